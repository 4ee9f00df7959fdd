#include <Random123/philox.h>
#undef philox4x32  // a macro of its C interface
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"

namespace fedstride::test::random_test {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words reference(Words counter, std::array<std::uint32_t, 2> key) {
  const r123::Philox4x32::ctr_type words =
      r123::Philox4x32()({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
  return {words[0], words[1], words[2], words[3]};
}

Words first_words(std::uint64_t seed, Address address) {
  RandomStream random(seed, address);
  Words words{};
  for (auto& word : words) word = random();
  return words;
}

TEST_CASE("Philox gives the published known answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Words made many at once are those of single calls, wherever the stream stands, and it goes on after them") {
  const Address address{.purpose = Purpose::test, .row = 3};
  for (const RandomSource& source : {RandomSource(7), RandomSource(SecretKey{1, 2, 3})})
    for (const std::size_t before : {0, 1, 4, 15})
      for (const std::size_t count : {0, 1, 3, 64, 255, 256, 257, 1024, 1030}) {
        RandomStream one = source.at(address), many = source.at(address);
        std::vector<std::uint32_t> expected(count), words(count);
        for (std::size_t i = 0; i < before; ++i) {
          one();
          many();
        }
        for (auto& word : expected) word = one();
        many.fill(words);
        CHECK(words == expected);
        CHECK(many() == one());
      }
}

TEST_CASE("Philox agrees with Random123 on counters and keys of every size") {
  Words counter{1, 2, 3, 4};
  for (int i = 0; i < 2000; ++i) {
    const std::array<std::uint32_t, 2> key{counter[1] ^ 0x1234567, counter[3]};
    const Words words = philox4x32(counter, key);
    REQUIRE(words == reference(counter, key));
    counter = {words[0] >> (i % 32), words[1] >> (i % 7), words[2], words[3] >> (i % 29)};
  }
}

TEST_CASE("the same address gives the same words again, block after block, and no word twice") {
  const Address address{.purpose = Purpose::test, .round = 5, .client = 6, .step = 7, .row = 8};
  RandomStream random(9, address);
  std::vector<std::uint32_t> words(400);
  for (auto& word : words) word = random();
  RandomStream again(9, address);
  for (const auto word : words) CHECK(again() == word);
  CHECK(std::set<std::uint32_t>(words.begin(), words.end()).size() == words.size());
}

// These and the shuffled order below were worked out by a second implementation, in Python.
TEST_CASE("the words of an address never change from version to version") {
  CHECK(first_words(1, {.purpose = Purpose::partition}) == Words{0x3dc0d1f0, 0x4064e412, 0xa4fdfb26, 0xfd7cbfe4});
  CHECK(first_words(2026, {.purpose = Purpose::data_order, .round = 3, .client = 4, .step = 5, .row = 6}) ==
        Words{0x0a225274, 0xc400deca, 0xc7a11e60, 0x593c8625});
}

TEST_CASE("every field of an address, and the seed, changes every word") {
  const Address base{.purpose = Purpose::test, .round = 1, .client = 1, .step = 1, .row = 1};
  std::vector<Words> all{first_words(1, base), first_words(2, base), first_words(std::uint64_t{1} << 32 | 1, base)};
  for (int field = 0; field < 5; ++field) {
    Address address = base;
    if (field == 0) address.purpose = Purpose::dropout;
    if (field == 1) address.round = 2;
    if (field == 2) address.client = 2;
    if (field == 3) address.step = 2;
    if (field == 4) address.row = 2;
    all.push_back(first_words(1, address));
  }
  std::set<std::uint32_t> distinct;
  for (const auto& words : all) distinct.insert(words.begin(), words.end());
  CHECK(distinct.size() == 4 * all.size());
}

TEST_CASE("neighbouring addresses share no block and look independent") {
  std::set<Words> blocks;
  double differing_bits = 0;
  int pairs = 0;
  for (std::uint32_t round = 0; round < 6; ++round)
    for (std::uint32_t client = 0; client < 6; ++client)
      for (std::uint32_t step = 0; step < 6; ++step) {
        Words before{};
        for (std::uint32_t row = 0; row < 20; ++row) {
          const Words words = first_words(7, {Purpose::test, round, client, step, row});
          blocks.insert(words);
          if (row > 0)
            for (int i = 0; i < 4; ++i, ++pairs) differing_bits += std::popcount(words[i] ^ before[i]);
          before = words;
        }
      }
  CHECK(blocks.size() == 6 * 6 * 6 * 20);
  // Binomial(32, 1/2): mean 16, standard deviation sqrt(8) a pair.
  CHECK(std::abs(differing_bits / pairs - 16) < 4 * std::sqrt(8.0 / pairs));
}

TEST_CASE("a source that was saved and loaded draws the same, seeded or secret, and damaged bytes are refused") {
  SecretKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(200 - i);
  for (const RandomSource& source : {RandomSource(std::uint64_t{0x123456789abcdef0}), RandomSource(key)}) {
    const std::string bytes = source.save();
    const RandomSource loaded = RandomSource::load(bytes);
    CHECK(loaded.is_secret() == source.is_secret());
    for (const std::uint32_t client : {0U, 5U}) {
      const Address address{.purpose = Purpose::test, .round = 3, .client = client};
      CHECK(loaded.at(address).bits64() == source.at(address).bits64());
    }
    CHECK_THROWS_AS(RandomSource::load(bytes.substr(1)), Error);
    CHECK_THROWS_AS(RandomSource::load("\x02" + bytes.substr(1)), Error);
  }
}

TEST_CASE("below is uniform, by chi-square, also where the bound does not divide 2^64") {
  RandomStream random(11, {.purpose = Purpose::test});
  for (const std::uint64_t bound : {2, 3, 10, 17}) {
    std::vector<double> counts(bound);
    const int draws = 20000;
    for (int i = 0; i < draws; ++i) counts.at(random.below(bound)) += 1;
    double chi_square = 0;
    const double expected = draws / static_cast<double>(bound);
    for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
    // Mean k - 1, variance 2 (k - 1); five standard deviations.
    const double freedom = static_cast<double>(bound - 1);
    CHECK(chi_square < freedom + 5 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("below rejects what would favor small numbers") {
  // With bound 3 x 2^62, a plain product of 64 bits and a shift would give each multiple of 3 twice its share.
  RandomStream random(12, {.purpose = Purpose::test});
  const std::uint64_t bound = std::uint64_t{3} << 62;
  int thirds[3] = {};
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t value = random.below(bound);
    REQUIRE(value < bound);
    ++thirds[value % 3];
  }
  for (const int count : thirds) CHECK(std::abs(count - 10000) < 5 * std::sqrt(30000 * 2.0 / 9));
  CHECK(random.below(1) == 0);
}

TEST_CASE("shuffle gives the order it always gave, and every order equally often") {
  std::vector<int> values(10);
  std::iota(values.begin(), values.end(), 0);
  RandomStream random(1, {.purpose = Purpose::test});
  shuffle(std::span(values), random);
  CHECK(values == std::vector<int>{1, 9, 5, 0, 7, 3, 2, 4, 8, 6});

  int counts[6] = {};
  for (int i = 0; i < 12000; ++i) {
    std::array<int, 3> three{0, 1, 2};
    shuffle(std::span<int>(three), random);
    ++counts[three[0] * 2 + (three[1] > three[2] ? 1 : 0)];
  }
  for (const int count : counts) CHECK(std::abs(count - 2000) < 5 * std::sqrt(12000 * 5.0 / 36));
}

TEST_CASE("shuffling nothing or one thing draws nothing") {
  RandomStream random(1, {.purpose = Purpose::test});
  RandomStream untouched = random;
  std::vector<int> one{1};
  shuffle(std::span(one).first(0), random);
  shuffle(std::span(one), random);
  CHECK(random() == untouched());
}

}  // namespace
}  // namespace fedstride::test::random_test

#include "dp/noise/sampling.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace fedstride::test::sampling_test {
namespace {

using Ids = std::vector<std::uint32_t>;

SecretKey some_key() {
  SecretKey key{};
  key[9] = 3;
  return key;
}
const RandomSource kSources[] = {RandomSource(std::uint64_t{4}), RandomSource(some_key())};

Ids first_ids(std::size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

/// Some ids of all sizes, in no order.
Ids scattered_ids() {
  RandomStream random(1, {.purpose = Purpose::test});
  Ids ids = first_ids(300);
  for (std::uint32_t id = 1000; id < 3000; id += 1 + static_cast<std::uint32_t>(random.below(20))) ids.push_back(id);
  ids.push_back(std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t id = 100000; id < 100100; id += 3) ids.push_back(id);
  shuffle(std::span(ids), random);
  return ids;
}

Ids poisson(const RandomSource& source, const Address& address, double rate, const Ids& ids, DrawWidth width = DrawWidth::byte) {
  Ids drawn{7, 7, 7};  // what was there before is forgotten
  draw_poisson(source, address, rate, ids, drawn, width);
  return drawn;
}

Ids fixed(const RandomSource& source, const Address& address, std::size_t count, const Ids& ids) {
  Ids drawn{7, 7, 7};
  draw_without_replacement(source, address, count, ids, drawn);
  return drawn;
}

/// Number `id` of the address's 64-bit words, drawn one after the other.
std::vector<std::uint64_t> words(const RandomSource& source, const Address& address, std::size_t count) {
  RandomStream random = source.at(address);
  std::vector<std::uint64_t> result(count);
  for (auto& word : result) word = random.bits64();
  return result;
}

TEST_CASE("an id is drawn where its word of the address is below rate x 2^64") {
  const Address address{Purpose::private_sampling, 1, 2, 3};
  for (const auto& source : kSources) {
    const auto word = words(source, address, 1000);
    for (const double rate : {0.001, 0.03, 0.5, 0.999}) {
      Ids expected;
      for (std::uint32_t id = 0; id < 1000; ++id)
        if (static_cast<long double>(word[id]) < std::ldexp(static_cast<long double>(rate), 64)) expected.push_back(id);
      CHECK(poisson(source, address, rate, first_ids(1000), DrawWidth::word) == expected);
    }
  }
}

TEST_CASE("by bytes an id is drawn where its byte of the address and, if need be, a word of its row are below the rate") {
  const Address address{Purpose::private_sampling, 1, 2, 3};
  for (const auto& source : kSources) {
    RandomStream stream = source.at(address);
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < 5000) {
      const std::uint32_t word = stream();
      for (int k = 0; k < 4; ++k) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * k)));
    }
    for (const double rate : {0.0, 0.0001, 0.001, 0.0625, 0.5, 0.999}) {
      Ids expected;
      for (std::uint32_t id = 0; id < 5000; ++id) {
        Address own = address;
        own.row = id + 1;
        const long double draw = (bytes[id] + std::ldexp(static_cast<long double>(source.at(own).bits64()), -64)) / 256;
        if (draw < static_cast<long double>(rate)) expected.push_back(id);
      }
      CHECK(poisson(source, address, rate, first_ids(5000)) == expected);
    }
  }
}

TEST_CASE("whether an id is drawn does not depend on which others there are, nor on their order") {
  const Address address{Purpose::private_sampling, 5};
  const Ids ids = scattered_ids();
  for (const auto& source : kSources)
    for (const double rate : {0.02, 0.4}) {
      const Ids drawn = poisson(source, address, rate, ids);
      CHECK(drawn.size() > 3);
      Ids alone;
      for (const auto id : ids)
        for (const auto one : poisson(source, address, rate, {id})) alone.push_back(one);
      CHECK(drawn == alone);
      // One more row, anywhere, changes nobody else's draw.
      for (std::size_t place : {std::size_t{0}, ids.size() / 2, ids.size()}) {
        Ids more = ids;
        more.insert(more.begin() + static_cast<std::ptrdiff_t>(place), 500);
        Ids now = poisson(source, address, rate, more);
        std::erase(now, 500U);
        CHECK(now == drawn);
      }
    }
}

TEST_CASE("rate 0 draws nobody, rate 1 everybody, and so does an empty list nobody") {
  const Address address{Purpose::private_sampling};
  for (const auto& source : kSources) {
    CHECK(poisson(source, address, 0, first_ids(2000)).empty());
    CHECK(poisson(source, address, 0x1p-65, first_ids(2000)).empty());
    CHECK(poisson(source, address, 1, first_ids(2000)) == first_ids(2000));
    CHECK(poisson(source, address, 0.5, {}).empty());
    CHECK(fixed(source, address, 3, {}).empty());
  }
}

TEST_CASE("the number drawn has the binomial distribution, over addresses and over ids") {
  const std::size_t rows = 500;
  const double rate = 0.04;
  const int trials = 2000;
  for (const auto& source : kSources) {
    double sum = 0;
    double squares = 0;
    std::vector<double> of_row(rows);
    for (int i = 0; i < trials; ++i) {
      const Ids drawn = poisson(source, {Purpose::private_sampling, 0, 0, static_cast<std::uint32_t>(i)}, rate, first_ids(rows));
      const auto size = static_cast<double>(drawn.size());
      sum += size;
      squares += size * size;
      for (const auto id : drawn) ++of_row[id];
    }
    const double mean = rows * rate;
    const double variance = rows * rate * (1 - rate);
    CHECK(std::abs(sum / trials - mean) < 4 * std::sqrt(variance / trials));
    CHECK(std::abs(squares / trials - mean * mean - variance) < 4 * 2 * mean * std::sqrt(variance / trials));
    double chi_square = 0;
    for (const double count : of_row) chi_square += std::pow(count - trials * rate, 2) / (trials * rate * (1 - rate));
    CHECK(std::abs(chi_square - rows) < 4 * std::sqrt(2.0 * rows));
  }
}

TEST_CASE("without replacement those with the smallest words are drawn, in the order they came in") {
  const Address address{Purpose::cohort, 3};
  const Ids ids = scattered_ids();
  for (const auto& source : kSources) {
    const auto word = words(source, address, 3000);
    Ids few;
    for (const auto id : ids)
      if (id < 3000) few.push_back(id);
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{50}, few.size() - 1}) {
      Ids expected = few;
      std::ranges::sort(expected, {}, [&](std::uint32_t id) { return word[id]; });
      expected.resize(count);
      Ids drawn = fixed(source, address, count, few);
      Ids in_order;
      for (const auto id : few)
        if (std::ranges::find(expected, id) != expected.end()) in_order.push_back(id);
      CHECK(drawn == in_order);
    }
    CHECK(fixed(source, address, 0, ids).empty());
    CHECK(fixed(source, address, ids.size(), ids) == ids);
    CHECK(fixed(source, address, ids.size() + 9, ids) == ids);
  }
}

TEST_CASE("among the first ids the same are drawn as from a list of them") {
  for (const auto& source : kSources)
    for (const std::size_t ids : {1, 2, 31, 32, 33, 1024, 1025, 5000})
      for (const std::size_t count : {0, 1, 2, 10, 900, 5000}) {
        const Address address{Purpose::cohort, static_cast<std::uint32_t>(ids)};
        Ids drawn{7, 7, 7};
        draw_without_replacement(source, address, count, ids, drawn);
        CHECK(drawn == fixed(source, address, count, first_ids(ids)));
      }
}

TEST_CASE("every subset of a size is drawn equally often") {
  for (const auto& source : kSources) {
    std::map<Ids, double> counts;
    const int trials = 10000;
    for (int i = 0; i < trials; ++i) ++counts[fixed(source, {Purpose::cohort, static_cast<std::uint32_t>(i)}, 2, first_ids(5))];
    CHECK(counts.size() == 10);
    double chi_square = 0;
    for (const auto& [subset, count] : counts) chi_square += (count - 1000) * (count - 1000) / 1000;
    CHECK(chi_square < 9 + 5 * std::sqrt(2 * 9.0));
  }
}

}  // namespace
}  // namespace fedstride::test::sampling_test

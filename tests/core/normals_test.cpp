#include "core/normals.hpp"

#include <Random123/philox.h>
#undef philox4x32  // a macro of its C interface
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

namespace fedstride::test::normals_test {
namespace {

using Words = std::array<std::uint32_t, 4>;

SecretKey some_key() {
  SecretKey key{};
  key[5] = 17;
  return key;
}
const RandomSource kSeeded(std::uint64_t{11});
const RandomSource kSecret(some_key());
constexpr Address kAddress{Purpose::test, 1, 2, 3, 4};

std::vector<float> normals(const RandomSource& source, const Address& address, std::uint64_t first, std::size_t count) {
  std::vector<float> values(count, 0.0F);
  add_normals(source, address, first, 1.0F, values);
  return values;
}

/// Word k of a block: by Random123 where the stream is seeded.
std::uint32_t word_of(const RandomStream& stream, std::uint32_t block, std::size_t k) {
  auto counter = stream.counter();
  counter[0] = block;
  if (stream.is_secret()) return chacha20_block(stream.secret_key(), counter)[k];
  const auto key = stream.key();
  return r123::Philox4x32()({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}})[k];
}

/// z(j) by its definition in core/normals.hpp, in long double.
long double reference(const RandomStream& stream, std::uint64_t j) {
  const std::uint64_t group = 16 * stream.words_per_block();
  const auto block = static_cast<std::uint32_t>(j / group * 16 + j % 16);
  const std::size_t pair = j % group / 32;
  const std::uint32_t word = word_of(stream, block, 2 * pair);
  long double u = (word + 0.5L) * 0x1p-32L;
  if (word < 1U << 18) u = (word + (word_of(stream, block | 1U << 31, 2 * pair) + 0.5L) * 0x1p-32L) * 0x1p-32L;
  const long double radius = std::sqrt(-2 * std::log(u));
  const std::uint32_t place = word_of(stream, block, 2 * pair + 1);
  const auto part = static_cast<std::int32_t>(place << 2);
  const long double angle = (part + 0.5L) * 0x1p-32L * std::numbers::pi_v<long double> / 2;
  const long double cosine = std::cos(angle) * (place >> 31 != 0 ? -1 : 1);
  const long double sine = std::sin(angle);
  const bool exchanged = (place >> 30 & 1U) != 0;
  const bool wants_cosine = j % 32 < 16;
  return radius * (wants_cosine != exchanged ? cosine : sine);
}

/// Error in units of the float's last place, but of 2^-30 near zero.
double error_of(float value, long double exact) {
  const long double unit = std::max(0x1p-30L, std::abs(exact) * 0x1p-23L);
  return static_cast<double>(std::abs(value - exact) / unit);
}

/// The counter whose block under `key` is `words`: Philox's rounds backwards.
Words philox_inverse(Words words, std::array<std::uint32_t, 2> key) {
  const auto inverse_of = [](std::uint32_t odd) {  // modulo 2^32, by Newton
    std::uint32_t x = odd;
    for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
    return x;
  };
  const std::uint64_t factor0 = 0xD2511F53;
  const std::uint64_t factor1 = 0xCD9E8D57;
  key = {key[0] + 9 * 0x9E3779B9U, key[1] + 9 * 0xBB67AE85U};
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t c0 = words[3] * inverse_of(0xD2511F53);
    const std::uint32_t c2 = words[1] * inverse_of(0xCD9E8D57);
    words = {c0, words[0] ^ static_cast<std::uint32_t>(factor1 * c2 >> 32) ^ key[0], c2,
             words[2] ^ static_cast<std::uint32_t>(factor0 * c0 >> 32) ^ key[1]};
    key = {key[0] - 0x9E3779B9U, key[1] - 0xBB67AE85U};
  }
  return words;
}

struct Place {
  Address address;
  std::uint64_t first;  ///< the normal that is made of the block's words 0 and 1, by the cosine
};

/// Where a seeded source has a block of these words; none if the block is one of those for refinement.
std::optional<Place> place_of(Words words) {
  const Address address{Purpose::test};
  const auto counter = philox_inverse(words, kSeeded.at(address).key());
  if (counter[0] >> 31 != 0) return {};
  return Place{{Purpose::test, 0, counter[3], counter[2], counter[1]}, std::uint64_t{counter[0] / 16} * 64 + counter[0] % 16};
}

/// The same, with the block's last two words at the test's choice.
Place place_of(std::uint32_t radius_word, std::uint32_t angle_word) {
  for (std::uint32_t i = 0;; ++i)
    if (const auto place = place_of({radius_word, angle_word, i, 5})) return *place;
}

TEST_CASE("each normal is what the definition says, in long double, of Random123's words") {
  for (const RandomSource& source : {kSeeded, kSecret}) {
    const std::size_t count = 40000;
    const std::uint64_t first = 123456789;
    const auto values = normals(source, kAddress, first, count);
    const RandomStream stream = source.at(kAddress);
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, error_of(values[i], reference(stream, first + i)));
    MESSAGE("largest error in units of the last place: " << worst);
    CHECK(worst < 4);
  }
}

TEST_CASE("words at every edge of the transform give what they should") {
  const std::uint32_t edges[] = {0,          1,          2,          9,          0x1000,     0x4000,     0x5000,
                                 0x8000,     0x3fffe,    0x3ffff,    0x40000,    0x40001,    0x50000,    0x60000,
                                 0x7fffff,   0x800000,   0xffffff,   0x1000000,  0x1000001,  0x7fffffff, 0x80000000,
                                 0x80000001, 0xb504f332, 0xb504f333, 0xb504f334, 0xb504f380, 0xb5050000, 0xfffffeff,
                                 0xffffff7f, 0xffffff80, 0xfffffffd, 0xfffffffe, 0xffffffff};
  const std::uint32_t angles[] = {0,          1,          0x1fffffff, 0x20000000, 0x3fffffff, 0x40000000,
                                  0x5fffffff, 0x7fffffff, 0x80000000, 0x9fffffff, 0xa0000000, 0xffffffff};
  for (const std::uint32_t edge : edges)
    for (const std::uint32_t angle : angles) {
      const auto [address, first] = place_of(edge, angle);
      const RandomStream stream = kSeeded.at(address);
      REQUIRE(word_of(stream, static_cast<std::uint32_t>(first / 64 * 16 + first % 16), 0) == edge);
      CAPTURE(edge);
      CAPTURE(angle);
      for (const std::uint64_t j : {first, first + 16}) {
        const float value = normals(kSeeded, address, j, 1)[0];
        CHECK(error_of(value, reference(stream, j)) < 4);
        CHECK(value != 0);
      }
    }
}

TEST_CASE("words that are rare enough give more than 7.5 and more than 8.2 standard deviations, not fewer") {
  // Word 0 is zero, and so are the upper bits of its refinement: once in 2^32 times 4,096 or 65,536. The angle: 0.
  double largest = 0;
  int beyond = 0;
  for (std::uint32_t i = 0; largest < 8.2 && i < 2000000; ++i) {
    const auto place = place_of({0, 0, i, 77});
    if (!place) continue;
    const RandomStream stream = kSeeded.at(place->address);
    const auto block = static_cast<std::uint32_t>(place->first / 64 * 16 + place->first % 16);
    if (word_of(stream, block | 1U << 31, 0) >= 1U << 20) continue;
    const float value = normals(kSeeded, place->address, place->first, 1)[0];
    CHECK(value > 7.5);
    CHECK(error_of(value, reference(stream, place->first)) < 4);
    largest = std::max(largest, static_cast<double>(value));
    ++beyond;
  }
  CHECK(largest > 8.2);
  CHECK(beyond > 1);
}

TEST_CASE("the same bits however the draws are cut into stretches, and wherever those lie in memory") {
  RandomStream random(1, {.purpose = Purpose::test});
  for (const RandomSource& source : {kSeeded, kSecret}) {
    std::vector<float> start(3000);
    for (auto& value : start) value = 2 * random.uniform_float() - 1;
    auto whole = start;
    add_normals(source, kAddress, 4000000001, 0.37F, whole);
    for (int trial = 0; trial < 40; ++trial) {
      const std::size_t shift = random.below(16);
      std::vector<float> memory(start.size() + 16);
      std::ranges::copy(start, memory.begin() + static_cast<std::ptrdiff_t>(shift));
      const std::span<float> values = std::span(memory).subspan(shift, start.size());
      for (std::size_t begin = 0; begin < values.size();) {
        const std::size_t size = std::min<std::size_t>(random.below(trial % 2 == 0 ? 40 : 900), values.size() - begin);
        add_normals(source, kAddress, 4000000001 + begin, 0.37F, values.subspan(begin, size));
        begin += size;
      }
      REQUIRE(std::ranges::equal(values, whole));
      for (std::size_t i = 0; i < 16; ++i)
        REQUIRE(memory[i < shift ? i : start.size() + i] == 0);  // nothing beside the stretch is touched
    }
  }
}

TEST_CASE("the noise is scaled and added to what is there; scale 0 and an empty stretch change nothing") {
  const auto z = normals(kSeeded, kAddress, 100, 500);
  std::vector<float> values(500, 8.0F);
  add_normals(kSeeded, kAddress, 100, 4.0F, values);
  for (std::size_t i = 0; i < z.size(); ++i) REQUIRE(values[i] == doctest::Approx(8 + 4.0 * z[i]).epsilon(1e-6));
  auto again = values;
  add_normals(kSeeded, kAddress, 100, 0.0F, again);
  CHECK(again == values);
  add_normals(kSeeded, kAddress, 100, 4.0F, std::span(again).first(0));
  CHECK(again == values);
}

TEST_CASE("the last normals of an address can be drawn") {
  for (const RandomSource& source : {kSeeded, kSecret}) {
    const auto values = normals(source, kAddress, kMaxNormals - 70, 70);
    const RandomStream stream = source.at(kAddress);
    for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(error_of(values[i], reference(stream, kMaxNormals - 70 + i)) < 4);
  }
}

TEST_CASE("moments, distribution function and tails are the normal distribution's") {
  for (const RandomSource& source : {kSeeded, kSecret}) {
    const std::size_t count = 1 << 21;
    auto values = normals(source, {Purpose::test, 9}, 0, count);
    const auto n = static_cast<double>(count);
    double moments[5] = {};
    double beyond[3] = {};
    const double limits[3] = {3, 4, 4.5};
    for (const float value : values) {
      double power = 1;
      for (double& moment : moments) {
        moment += power / n;
        power *= static_cast<double>(value);
      }
      for (std::size_t i = 0; i < 3; ++i) beyond[i] += std::fabs(value) > static_cast<float>(limits[i]) ? 1 : 0;
    }
    CHECK(std::abs(moments[1]) < 4 * std::sqrt(1 / n));
    CHECK(std::abs(moments[2] - 1) < 4 * std::sqrt(2 / n));
    CHECK(std::abs(moments[3]) < 4 * std::sqrt(15 / n));
    CHECK(std::abs(moments[4] - 3) < 4 * std::sqrt(96 / n));
    for (std::size_t i = 0; i < 3; ++i) {
      const double expected = n * std::erfc(limits[i] / std::sqrt(2.0));
      CHECK(std::abs(beyond[i] - expected) < 4 * std::sqrt(expected));
    }
    values.resize(1 << 19);
    std::ranges::sort(values);
    const auto m = static_cast<double>(values.size());
    double distance = 0;  // Kolmogorov-Smirnov: above 1.95 once in a thousand times
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double at = 0.5 * std::erfc(-static_cast<double>(values[i]) / std::sqrt(2.0));
      distance = std::max({distance, at - static_cast<double>(i) / m, static_cast<double>(i + 1) / m - at});
    }
    CHECK(distance * std::sqrt(m) < 1.95);
  }
}

TEST_CASE("beyond 4.4 deviations, where words are refined, tails have their share too: 134 million draws") {
  const double limits[] = {4.4, 4.7, 5, 5.5};
  double beyond[4][2] = {};
  std::vector<float> values(1 << 16);
  const int parts = 1 << 11;
  for (int part = 0; part < parts; ++part) {
    std::ranges::fill(values, 0.0F);
    add_normals(kSeeded, {Purpose::test, 77}, static_cast<std::uint64_t>(part) << 16, 1.0F, values);
    for (const float value : values) {
      if (std::fabs(value) < 4.4F) continue;
      for (std::size_t i = 0; i < 4; ++i) beyond[i][value < 0 ? 1 : 0] += std::fabs(value) > limits[i] ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (const double count : beyond[i]) {
      const double expected = parts * 65536.0 * 0.5 * std::erfc(limits[i] / std::sqrt(2.0));
      CAPTURE(limits[i]);
      CHECK(std::abs(count - expected) < 4 * std::sqrt(expected));
    }
}

TEST_CASE("normals at any small distance, of neighbouring addresses, and their squares are uncorrelated") {
  const std::size_t count = 1 << 19;
  for (const RandomSource& source : {kSeeded, kSecret}) {
    const auto values = normals(source, {Purpose::test, 1, 1, 1, 1}, 0, count + 512);
    std::vector<std::vector<float>> others;
    for (const std::size_t lag : {1, 15, 16, 17, 32, 64, 256, 512})
      others.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(lag), values.end());
    others.push_back(normals(source, {Purpose::test, 2, 1, 1, 1}, 0, count));
    others.push_back(normals(source, {Purpose::test, 1, 2, 1, 1}, 0, count));
    others.push_back(normals(source, {Purpose::test, 1, 1, 2, 1}, 0, count));
    others.push_back(normals(source, {Purpose::test, 1, 1, 1, 2}, 0, count));
    for (const auto& other : others) {
      double plain = 0;
      double squared = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(values[i]);
        const double y = static_cast<double>(other[i]);
        plain += x * y;
        squared += (x * x - 1) * (y * y - 1);
      }
      CHECK(std::abs(plain) < 4.5 * std::sqrt(static_cast<double>(count)));
      CHECK(std::abs(squared) < 4.5 * 2 * std::sqrt(static_cast<double>(count)));
    }
  }
}

}  // namespace
}  // namespace fedstride::test::normals_test

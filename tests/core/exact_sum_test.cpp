#include "core/exact_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/hash.hpp"
#include "core/random.hpp"

namespace fedstride::test::exact_sum_test {
namespace {

struct Contribution {
  std::vector<float> values;
  std::uint64_t weight;
};

/// Values of every size that is admitted, of both signs.
std::vector<Contribution> contributions(int count, std::size_t size) {
  RandomStream random(1, {.purpose = Purpose::test});
  std::vector<Contribution> all(count);
  for (auto& one : all) {
    one.weight = 1 + random.below(100000);
    one.values.resize(size);
    for (auto& value : one.values) value = std::ldexp(2 * random.uniform_float() - 1, static_cast<int>(random.below(45)) - 23);
  }
  return all;
}

std::string hash_of(const ExactSum& sum) {
  Vector mean;
  sum.divided_by(static_cast<double>(sum.weight()), mean);
  return model_hash(mean);
}

float sum_of_one(float value, std::uint64_t weight = 1) {
  ExactSum sum(1);
  sum.add({&value, 1}, weight);
  Vector out;
  sum.divided_by(static_cast<double>(weight), out);
  return out[0];
}

TEST_CASE("a thousand orders of the same contributions give the same bits, where floats do not") {
  auto all = contributions(12, 9);
  RandomStream random(2, {.purpose = Purpose::test});
  std::string first;
  std::vector<float> float_sums;
  for (int order = 0; order < 1000; ++order) {
    shuffle(std::span(all), random);
    ExactSum sum(9);
    float plain = 0;
    for (const auto& one : all) {
      REQUIRE(ExactSum::admits(one.values));
      sum.add(one.values, one.weight);
      plain += one.values[0] * static_cast<float>(one.weight);
    }
    float_sums.push_back(plain);
    const std::string hash = hash_of(sum);
    if (order == 0) first = hash;
    REQUIRE(hash == first);
  }
  std::sort(float_sums.begin(), float_sums.end());
  CHECK(float_sums.front() != float_sums.back());
}

TEST_CASE("sums of parts merge to the sum of all, however they are cut") {
  const auto all = contributions(20, 5);
  ExactSum whole(5);
  for (const auto& one : all) whole.add(one.values, one.weight);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    ExactSum left(5);
    ExactSum right(5);
    for (std::size_t i = 0; i < all.size(); ++i) (i < cut ? left : right).add(all[i].values, all[i].weight);
    right.merge(left);
    CHECK(right.weight() == whole.weight());
    REQUIRE(hash_of(right) == hash_of(whole));
  }
}

TEST_CASE("the mean agrees with one worked out in long double") {
  const auto all = contributions(50, 3);
  ExactSum sum(3);
  for (const auto& one : all) sum.add(one.values, one.weight);
  Vector mean;
  sum.divided_by(static_cast<double>(sum.weight()), mean);
  for (int i = 0; i < 3; ++i) {
    long double expected = 0;
    for (const auto& one : all) expected += static_cast<long double>(one.values[i]) * one.weight;
    expected /= static_cast<long double>(sum.weight());
    CHECK(mean[i] == doctest::Approx(static_cast<double>(expected)).epsilon(1e-7));
  }
}

TEST_CASE("a weight counts as that many equal contributions") {
  const std::vector<float> values{0.1F, -3e-9F, 12345.678F};
  ExactSum once(3);
  once.add(values, 7);
  ExactSum seven(3);
  for (int i = 0; i < 7; ++i) seven.add(values, 1);
  CHECK(once.weight() == seven.weight());
  CHECK(hash_of(once) == hash_of(seven));
}

TEST_CASE("opposite contributions cancel to nothing, however large they were") {
  const std::vector<float> values{4194303.75F, 0.3F, -1e-6F};
  std::vector<float> opposite;
  for (const float value : values) opposite.push_back(-value);
  const std::vector<float> small{0x1p-40F, 0, 0};
  ExactSum sum(3);
  sum.add(values, 1000000);
  sum.add(small, 1);
  sum.add(opposite, 1000000);
  Vector out;
  sum.divided_by(1, out);
  CHECK(out[0] == 0x1p-40F);
  CHECK(out[1] == 0);
  CHECK(out[2] == 0);
}

TEST_CASE("quantizing moves a component by at most 2^-41, to the nearest multiple of 2^-40") {
  RandomStream random(3, {.purpose = Purpose::test});
  for (int i = 0; i < 1000; ++i) {
    const float value = std::ldexp(2 * random.uniform_float() - 1, -25 - i % 20);
    const double moved = std::abs(static_cast<double>(sum_of_one(value)) - value);
    CHECK(moved <= 0x1p-41);
  }
  CHECK(sum_of_one(0x1.4p-39F) == 0x1p-39F);    // 2.5 units: a tie goes to the even neighbour
  CHECK(sum_of_one(0x1.8p-40F) == 0x1p-39F);    // 1.5 units
  CHECK(sum_of_one(-0x1.8p-41F) == -0x1p-40F);  // -0.75 units
  CHECK(sum_of_one(0x1p-42F) == 0);
  CHECK(sum_of_one(0.1F) == 0.1F);  // a float of 2^-17 or more is a multiple already
}

TEST_CASE("components from 2^22 on, infinities and NaN are refused before anything is added") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float below_limit = std::nextafter(ExactSum::kMaxMagnitude, 0.0F);
  for (const float bad : {ExactSum::kMaxMagnitude, -ExactSum::kMaxMagnitude, infinity, -infinity, std::nanf("")}) {
    for (std::size_t position : {0, 4, 16}) {
      std::vector<float> values(17, 1.0F);
      values[position] = bad;
      CHECK_FALSE(ExactSum::admits(values));
    }
  }
  const std::vector<float> good{below_limit, -below_limit, 0.0F, -0.0F, std::numeric_limits<float>::denorm_min()};
  CHECK(ExactSum::admits(good));
  CHECK(ExactSum::admits({}));
}

TEST_CASE("the largest component under the largest weight does not overflow") {
  const float largest = std::nextafter(ExactSum::kMaxMagnitude, 0.0F);
  const auto weight = std::numeric_limits<std::uint64_t>::max();
  CHECK(sum_of_one(largest, weight) == largest);
  CHECK(sum_of_one(-largest, weight) == -largest);
}

/// The definition of the sum: 128-bit products of rounded values.
struct Definition {
  std::vector<__int128> sums;
  std::uint64_t weight = 0;

  void add(std::span<const float> values, std::uint64_t factor) {
    for (std::size_t i = 0; i < values.size(); ++i)
      sums[i] += static_cast<__int128>(factor) * std::llrint(static_cast<double>(values[i]) * ExactSum::kScale);
    weight += factor;
  }
  void check(const ExactSum& sum) const {
    REQUIRE(sum.weight() == weight);
    for (const double denominator : {static_cast<double>(weight), 1.0, 0.3}) {
      Vector out;
      sum.divided_by(denominator, out);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto expected = static_cast<float>(static_cast<double>(sums[i]) / ExactSum::kScale / denominator);
        REQUIRE(std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(expected));
      }
    }
    ExactSum copy = sum;
    REQUIRE(std::ranges::equal(copy.integers(), sums));
    Vector out, again;
    sum.divided_by(1, out);
    copy.divided_by(1, again);
    REQUIRE(out == again);
  }
};

TEST_CASE("sums are the integers of their definition, for values and weights of every size") {
  constexpr std::size_t kSize = 37;
  RandomStream random(4, {.purpose = Purpose::test});
  // Magnitudes are below 2^exponent and weights below 2^bits; the last rows are about the bound at which integers get wide.
  struct Row {
    int exponent;
    unsigned bits;
    int updates;
  };
  for (const auto [exponent, bits, updates] :
       {Row{0, 7, 3000}, Row{-30, 40, 300}, Row{-41, 52, 300}, Row{-120, 58, 60}, Row{22, 58, 60}, Row{22, 1, 300},
        Row{1, 30, 300}, Row{10, 2, 2000}, Row{11, 1, 2000}, Row{12, 1, 300}, Row{-38, 51, 300}, Row{5, 7, 2000}}) {
    CAPTURE(exponent);
    CAPTURE(bits);
    ExactSum whole(kSize), left(kSize), right(kSize);
    Definition expected{.sums = std::vector<__int128>(kSize)};
    std::vector<float> values(kSize);
    for (int update = 0; update < updates; ++update) {
      const float limit = std::ldexp(1.0F, exponent);
      const bool is_uniform = update % 3 == 0, has_one_sign = update % 2 == 0;  // one sign: sums grow until they get wide
      for (float& value : values) {
        const float fraction = has_one_sign ? random.uniform_float() : 2 * random.uniform_float() - 1;
        value = std::ldexp(fraction, exponent - (is_uniform ? 0 : static_cast<int>(random.below(30))));
      }
      values[0] = std::nextafter(limit, 0.0F);
      values[1] = -values[0];
      values[2] = std::ldexp(static_cast<float>(static_cast<int>(random.below(64)) - 32), -41);  // half of them ties
      values[3] = std::numeric_limits<float>::denorm_min();
      values[4] = -0.0F;
      values[5] = limit < ExactSum::kMaxMagnitude ? limit : values[0];
      const std::uint64_t weight =
          update % 5 == 0 ? std::uint64_t{1} << (bits - 1) : 1 + random.below(std::uint64_t{1} << bits >> 1);
      REQUIRE(ExactSum::admits(values));
      expected.add(values, weight);
      whole.add(values, weight);
      (random.below(2) == 0 ? left : right).add(values, weight);
      if (update % 100 < 3) expected.check(whole);
    }
    expected.check(whole);
    left.merge(right);
    expected.check(left);
    // Integers added in place, and updates after them.
    for (std::size_t i = 0; i < kSize; ++i) {
      const __int128 more = static_cast<__int128>(static_cast<std::int64_t>(random.bits64())) << random.below(50);
      left.integers()[i] += more;
      expected.sums[i] += more;
    }
    left.add(values, 3);
    expected.add(values, 3);
    expected.check(left);
  }
}

TEST_CASE("small and large updates may alternate") {
  const std::vector<float> small{0x1.8p-41F, -0.1F, 1}, large{4000000.5F, -3000, 0x1p-40F};
  ExactSum sum(3);
  Definition expected{.sums = std::vector<__int128>(3)};
  for (int i = 0; i < 50; ++i) {
    sum.add(small, 40);
    expected.add(small, 40);
    if (i % 7 == 0) {
      sum.add(large, 1000);
      expected.add(large, 1000);
    }
    expected.check(sum);
  }
  sum.merge(ExactSum(3));
  expected.check(sum);
}

TEST_CASE("sums of many parts, each of which a double holds, are those of the definition") {
  const std::vector<float> large{2000, -2000, 0.1F}, small{0x1p-40F, 0x1p-40F, -0x1p-40F};
  ExactSum sum(3);
  Definition expected{.sums = std::vector<__int128>(3)};
  for (int i = 0; i < 20; ++i) {
    ExactSum part(3);
    for (const auto& values : {large, small}) {
      part.add(values, 1);
      expected.add(values, 1);
    }
    sum.merge(part);
    expected.check(sum);
  }
}

TEST_CASE("the denominator may differ from the sum of the weights") {
  ExactSum sum(1);
  const float value = 6;
  sum.add({&value, 1}, 2);
  Vector out;
  sum.divided_by(4, out);
  CHECK(out[0] == 3);
}

}  // namespace
}  // namespace fedstride::test::exact_sum_test

#include "core/exact_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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

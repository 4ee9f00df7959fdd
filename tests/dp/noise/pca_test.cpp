#include "dp/noise/pca.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"

namespace fedstride::test::pca_test {
namespace {

using Rows = std::vector<std::vector<float>>;
constexpr Address kAddress{.purpose = Purpose::component_noise, .client = 3};

Eigen::MatrixXd sum_of(const Rows& rows, int d, std::uint64_t* nonfinite = nullptr) {
  std::uint64_t count = 0;
  const auto visit = [&](RowSink sink) {
    for (const auto& row : rows) sink(row);
  };
  Eigen::MatrixXd sum = sum_of_outer_products(visit, d, count);
  if (nonfinite != nullptr) *nonfinite = count;
  return sum;
}

// Rows in the plane spanned by (1,1,0,0,0,0)/sqrt2, four times as often, and (0,0,3,4,0,0)/5, of all lengths.
Rows planted() {
  Rows rows;
  for (int i = 0; i < 1000; ++i) {
    const float length = 0.01F * static_cast<float>(1 + i % 300);
    rows.push_back(i % 5 == 0 ? std::vector<float>{0, 0, 3 * length, 4 * length, 0, 0}
                              : std::vector<float>{length, length, 0, 0, 0, 0});
  }
  return rows;
}

TEST_CASE("rows count with unit norm, uncentred; rows of zeros and rows that are not finite add nothing") {
  std::uint64_t nonfinite = 0;
  const float inf = std::numeric_limits<float>::infinity();
  const Eigen::MatrixXd sum =
      sum_of({{3, 4}, {-6, -8}, {0, 0}, {std::nanf(""), 1}, {inf, 1}, {0, 1e-30F}, {2e38F, 0}}, 2, &nonfinite);
  CHECK(nonfinite == 2);
  CHECK(sum(0, 0) == doctest::Approx(2 * 0.36 + 1).epsilon(1e-9));
  CHECK(sum(0, 1) == doctest::Approx(2 * 0.48).epsilon(1e-9));
  CHECK(sum(1, 0) == sum(0, 1));
  CHECK(sum(1, 1) == doctest::Approx(2 * 0.64 + 1).epsilon(1e-9));
}

TEST_CASE("a row more moves the sum by at most 1, a row replaced by at most the root of 2") {
  RandomStream random(5, {.purpose = Purpose::test});
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<float> a(40), b(40);
    for (float& value : a) value = static_cast<float>(random.normal() * std::exp(20 * random.normal()));
    for (float& value : b) value = static_cast<float>(random.normal());
    CHECK(sum_of({a}, 40).norm() <= 1);
    CHECK(sum_of({a}, 40).norm() > 1 - 1e-9);
    CHECK((sum_of({a}, 40) - sum_of({b}, 40)).norm() <= std::sqrt(2.0));
  }
  CHECK((sum_of({{1, 0}}, 2) - sum_of({{0, 1}}, 2)).norm() == doctest::Approx(std::sqrt(2.0)));
}

TEST_CASE("with little noise the planted directions come out, in order") {
  const Rows rows = planted();
  const auto visit = [&](RowSink sink) {
    for (const auto& row : rows) sink(row);
  };
  const Components found = private_components(visit, 6, 2, 1e-4, RandomSource(1), kAddress);
  REQUIRE(found.directions.rows() == 6);
  REQUIRE(found.directions.cols() == 2);
  const float root = std::sqrt(0.5F);
  const std::vector<float> expected[] = {{root, root, 0, 0, 0, 0}, {0, 0, 0.6F, 0.8F, 0, 0}};
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 6; ++i) CHECK(found.directions(i, c) == doctest::Approx(expected[c][i]).epsilon(1e-5));
  // The same address draws the same noise, another one other noise.
  CHECK(private_components(visit, 6, 2, 50, RandomSource(1), kAddress).directions ==
        private_components(visit, 6, 2, 50, RandomSource(1), kAddress).directions);
  CHECK(private_components(visit, 6, 2, 50, RandomSource(1), kAddress).directions !=
        private_components(visit, 6, 2, 50, RandomSource(2), kAddress).directions);
}

TEST_CASE("the noise is symmetric and has variance sigma squared in every entry, independently") {
  constexpr int kSize = 5;
  constexpr int kDraws = 20'000;
  constexpr double kSigma = 3;
  constexpr int kEntries = kSize * (kSize + 1) / 2;
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(kEntries, kEntries);
  Eigen::VectorXd entries(kEntries);
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    Eigen::MatrixXd noise = Eigen::MatrixXd::Zero(kSize, kSize);
    add_symmetric_noise(noise, {kSigma}, RandomSource(7), {.purpose = Purpose::component_noise, .step = draw});
    REQUIRE(noise == noise.transpose());
    for (int i = 0, at = 0; i < kSize; ++i)
      for (int j = i; j < kSize; ++j) entries(at++) = noise(i, j);
    covariance += entries * entries.transpose() / kDraws;
  }
  // Standard error of a variance is sigma^2 sqrt(2/n) = 0.09, of a covariance sigma^2 / sqrt(n) = 0.064.
  for (int i = 0; i < kEntries; ++i)
    for (int j = 0; j < kEntries; ++j) CHECK(std::fabs(covariance(i, j) - (i == j ? 9 : 0)) < 0.4);
}

TEST_CASE("components are charged as one release of everything, with the root of 2 when a row is replaced") {
  const Releases add = components_release(4, Neighbours::add_remove);
  CHECK(add.sampling == Sampling::full);
  CHECK(add.noise_multiplier == 4);
  CHECK(add.count == 1);
  CHECK(add.rate == 1);
  // Accountants count 2 / multiplier under replace-one: sqrt(2) / 4.
  CHECK(2 / components_release(4, Neighbours::replace_one).noise_multiplier ==
        doctest::Approx(std::sqrt(2.0) / 4).epsilon(1e-14));
}

TEST_CASE("impossible requests are refused") {
  const auto visit = [](RowSink sink) { sink(std::vector<float>{1, 2, 3}); };
  CHECK_THROWS_AS(private_components(visit, 3, 4, 1, RandomSource(1), kAddress), Error);
  CHECK_THROWS_AS(private_components(visit, 3, 0, 1, RandomSource(1), kAddress), Error);
  CHECK_THROWS_AS(private_components(visit, 3, 2, 0, RandomSource(1), kAddress), Error);
  CHECK_THROWS_AS(private_components(visit, 2, 1, 1, RandomSource(1), kAddress), Error);
}

}  // namespace
}  // namespace fedstride::test::pca_test

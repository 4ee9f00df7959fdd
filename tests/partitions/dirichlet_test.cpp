#include "partitions/dirichlet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitions/dirichlet_balanced.hpp"
#include "partitions/simplex.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::dirichlet_test {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / count;
  for (const double value : values) result.variance += (value - result.mean) * (value - result.mean) / count;
  return result;
}

}  // namespace

TEST_CASE("a class's share at a client has the mean and the variance of Dirichlet(alpha) over the clients") {
  constexpr int kClients = 4;
  for (const double alpha : {0.1, 0.5, 3.0}) {
    std::vector<double> shares;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Example example(round_robin_labels(1000, 2), 2, kClients, seed);
      const auto assignment = Dirichlet({.alpha = alpha}).assign(example.input);
      for (std::size_t label = 0; label < 2; ++label)
        shares.push_back(static_cast<double>(class_counts(assignment[1], example)[label]) / 500);
    }
    // Beta(alpha, 3 alpha): mean 1/4, variance (1/4)(3/4) / (4 alpha + 1).
    const double variance = 0.1875 / (kClients * alpha + 1);
    const auto found = moments(shares);
    CAPTURE(alpha);
    CHECK(std::abs(found.mean - 0.25) < 4 * std::sqrt(variance / static_cast<double>(shares.size())));
    CHECK(found.variance == doctest::Approx(variance).epsilon(0.2));
  }
}

TEST_CASE("a client's share of a class has the mean and the variance of Dirichlet(alpha p) over the classes") {
  // The first client draws before any class can run out: of 10,000 rows it takes 100, p = (3/4, 1/4).
  std::vector<std::uint16_t> labels(10000, 0);
  for (std::size_t row = 0; row < labels.size(); row += 4) labels[row] = 1;
  constexpr double kAlpha = 2;
  constexpr double kSize = 100;
  std::vector<double> shares;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Example example(labels, 2, 100, seed);
    const auto assignment = DirichletBalanced({.alpha = kAlpha}).assign(example.input);
    REQUIRE(assignment[0].size() == 100);
    shares.push_back(static_cast<double>(class_counts(assignment[0], example)[1]) / kSize);
  }
  // Beta-binomial with parameters (alpha/4, 3 alpha/4): p (1 - p) (alpha + n) / (n (alpha + 1)).
  const double variance = 0.25 * 0.75 * (kAlpha + kSize) / (kSize * (kAlpha + 1));
  const auto found = moments(shares);
  CHECK(std::abs(found.mean - 0.25) < 4 * std::sqrt(variance / static_cast<double>(shares.size())));
  CHECK(found.variance == doctest::Approx(variance).epsilon(0.35));
}

TEST_CASE("balanced client sizes are equal up to one, however hard the setting") {
  Example example(random_labels(1007, 10, 3), 10, 50);
  for (const double alpha : {1e-300, 0.01, 1.0, 1e300}) {
    const auto assignment = DirichletBalanced({.alpha = alpha}).assign(example.input);
    CHECK(holds_every_row_once(assignment, example));
    for (const auto& rows : assignment) CHECK((rows.size() == 20 || rows.size() == 21));
  }
}

TEST_CASE("a vanishing alpha gives each class to one client, and a client one class as long as the class lasts") {
  Example example(round_robin_labels(1000, 10), 10, 4);
  const auto unbalanced = Dirichlet({.alpha = 1e-300}).assign(example.input);
  CHECK(holds_every_row_once(unbalanced, example));
  int held = 0;
  for (const auto& rows : unbalanced)
    if (rows.size() > 1) held += static_cast<int>(classes_of(rows, example).size());
  CHECK(held == 10);
  Example small(round_robin_labels(1000, 10), 10, 20);
  CHECK(classes_of(DirichletBalanced({.alpha = 1e-300}).assign(small.input)[0], small).size() == 1);
}

TEST_CASE("a huge alpha gives every client equal shares") {
  Example example(round_robin_labels(1000, 10), 10, 4);
  for (const auto& rows : Dirichlet({.alpha = 1e300}).assign(example.input))
    CHECK(class_counts(rows, example) == std::vector<std::size_t>(10, 25));
}

TEST_CASE("clients whom the Dirichlet draw leaves without rows get one of the largest client's") {
  Example example(std::vector<std::uint16_t>(100, 0), 1, 20);
  auto assignment = Dirichlet({.alpha = 1e-300}).assign(example.input);
  std::vector<std::size_t> sizes;
  for (const auto& rows : assignment) sizes.push_back(rows.size());
  std::sort(sizes.begin(), sizes.end());
  std::vector<std::size_t> expected(20, 1);
  expected.back() = 81;
  CHECK(sizes == expected);
}

TEST_CASE("normalized logarithms sum to one where the numbers themselves would underflow") {
  const std::vector<double> logs = {-1e300, -5000, -5000 + std::log(3.0)};
  const auto shares = normalized(logs);
  CHECK(shares[0] == 0);
  CHECK(shares[1] == doctest::Approx(0.25));
  CHECK(shares[2] == doctest::Approx(0.75));
}

}  // namespace fedstride::test::dirichlet_test

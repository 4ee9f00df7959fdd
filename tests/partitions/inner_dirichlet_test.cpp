#include "partitions/inner_dirichlet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/partitions/examples.hpp"

namespace fedstride::test::inner_dirichlet_test {

TEST_CASE("priors are symmetric over the classes: where none runs out, a client holds of a rare class what it holds of others") {
  // Class 1 has a quarter of 8,000 rows. A huge alpha makes the priors (1/2, 1/2).
  std::vector<std::uint16_t> labels(8000, 0);
  for (std::size_t row = 0; row < labels.size(); row += 4) labels[row] = 1;
  Example example(labels, 2, 80);
  const auto assignment = InnerDirichlet({.alpha = 1e300}).assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  // Everybody draws from (1/2, 1/2) until the 2,000 rows of class 1 are gone, after 4,000 draws; then class 0 alone is left. So each
  // holds about 25 of class 1: as many as the last clients do.
  double first = 0, last = 0;
  for (std::size_t client = 0; client < 40; ++client) {
    first += static_cast<double>(class_counts(assignment[client], example)[1]) / 40;
    last += static_cast<double>(class_counts(assignment[client + 40], example)[1]) / 40;
  }
  CHECK(first == doctest::Approx(25).epsilon(0.1));
  CHECK(last == doctest::Approx(25).epsilon(0.1));
}

TEST_CASE("a client's share of a class has the mean and the variance of the symmetric Dirichlet(alpha)") {
  constexpr double kAlpha = 1;
  std::vector<double> shares;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Example example(round_robin_labels(4000, 4), 4, 40, seed);
    const auto assignment = InnerDirichlet({.alpha = kAlpha}).assign(example.input);
    const auto counts = class_counts(assignment[0], example);
    REQUIRE(assignment[0].size() == 100);
    shares.push_back(static_cast<double>(counts[2]) / 100);
  }
  const auto count = static_cast<double>(shares.size());
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / count;
  double variance = 0;
  for (const double share : shares) variance += (share - mean) * (share - mean) / count;
  // Beta-binomial with parameters (1, 3) and 100 draws: variance p (1 - p) (4 + n) / (n 5); classes that run out before the end
  // level it a little.
  CHECK(mean == doctest::Approx(0.25).epsilon(0.1));
  CHECK(variance == doctest::Approx(0.25 * 0.75 * 104 / 500).epsilon(0.25));
}

TEST_CASE("sizes are equal up to one, or lognormal: the logarithms have the deviation asked for") {
  Example example(random_labels(1007, 10, 3), 10, 50);
  for (const auto& rows : InnerDirichlet{}.assign(example.input)) CHECK((rows.size() == 20 || rows.size() == 21));
  Example many(random_labels(100000, 10, 3), 10, 1000, 4);
  const auto assignment = InnerDirichlet({.alpha = 10, .size_sigma = 0.5}).assign(many.input);
  CHECK(holds_every_row_once(assignment, many));
  double mean = 0, variance = 0;
  for (const auto& rows : assignment) mean += std::log(static_cast<double>(rows.size())) / 1000;
  for (const auto& rows : assignment) {
    const double difference = std::log(static_cast<double>(rows.size())) - mean;
    variance += difference * difference / 1000;
  }
  CHECK(std::sqrt(variance) == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("a vanishing alpha gives a client one class as long as it lasts, and a sigma of 100 does not overflow") {
  Example example(round_robin_labels(1000, 10), 10, 20);
  const auto assignment = InnerDirichlet({.alpha = 1e-300}).assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  // 200 pairs of client and class are possible; a client needs another class only where one has run out.
  std::size_t held = 0;
  for (const auto& rows : assignment) held += classes_of(rows, example).size();
  CHECK(held < 70);
  CHECK(holds_every_row_once(InnerDirichlet({.size_sigma = 100}).assign(example.input), example));
}

}  // namespace fedstride::test::inner_dirichlet_test

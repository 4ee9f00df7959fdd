#include "partitions/dirichlet_capped.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::dirichlet_capped_test {

TEST_CASE("a client that has an equal share of all rows gets none of the classes behind") {
  int capped = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Example example(round_robin_labels(2000, 10), 10, 10, seed);
    const auto assignment = DirichletCapped({.alpha = 0.3}).assign(example.input);
    REQUIRE(holds_every_row_once(assignment, example));
    for (const auto& rows : assignment) {
      CHECK(rows.size() >= 10);
      CHECK(rows.size() < 200 + 200);  // one class's rows beyond the cap
      const auto counts = class_counts(rows, example);
      std::size_t held = 0;
      for (std::size_t label = 0; label < 10; ++label) {
        if (held >= 200) CHECK(counts[label] == 0);
        capped += held >= 200 && label > 0 ? 1 : 0;
        held += counts[label];
      }
    }
  }
  CHECK(capped > 100);
}

TEST_CASE("without a cap in the way a class's share has the mean and the variance of Dirichlet(alpha) over the clients") {
  // The first class is dealt while nobody has a row.
  std::vector<double> shares;
  constexpr double kAlpha = 0.5;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Example example(round_robin_labels(1000, 2), 2, 4, seed);
    const auto assignment = DirichletCapped({.alpha = kAlpha, .least_rows = 0}).assign(example.input);
    shares.push_back(static_cast<double>(class_counts(assignment[1], example)[0]) / 500);
  }
  // Beta(alpha, 3 alpha), rounded down twice.
  double mean = 0, variance = 0;
  for (const double share : shares) mean += share / 400;
  for (const double share : shares) variance += (share - mean) * (share - mean) / 400;
  CHECK(std::abs(mean - 0.25) < 4 * std::sqrt(0.1875 / (4 * kAlpha + 1) / 400));
  CHECK(variance == doctest::Approx(0.1875 / (4 * kAlpha + 1)).epsilon(0.2));
}

TEST_CASE("the draw is repeated until every client has the least number of rows, and the first that suits is taken") {
  int drawn_again = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Example example(round_robin_labels(400, 4), 4, 8, seed);
    const auto once = DirichletCapped({.alpha = 0.3, .least_rows = 0}).assign(example.input);
    const auto repeated = DirichletCapped({.alpha = 0.3, .least_rows = 20}).assign(example.input);
    for (const auto& rows : repeated) CHECK(rows.size() >= 20);
    const bool suits = std::ranges::all_of(once, [](const auto& rows) { return rows.size() >= 20; });
    CHECK((once == repeated) == suits);
    drawn_again += suits ? 0 : 1;
  }
  CHECK(drawn_again > 0);
}

TEST_CASE("a vanishing alpha gives each class to one client that has room") {
  Example example(round_robin_labels(1000, 10), 10, 4);
  const auto assignment = DirichletCapped({.alpha = 1e-300, .least_rows = 0}).assign(example.input);
  CHECK(holds_every_row_once(assignment, example));
  // The cap is 250: three classes fill a client, so nobody has four.
  for (const auto& rows : assignment) CHECK(classes_of(rows, example).size() <= 3);
}

TEST_CASE("a least number of rows that cannot be had, or that no draw gives, is refused with what is valid") {
  Example example(round_robin_labels(100, 10), 10, 8);
  CHECK_USAGE_ERROR(DirichletCapped({.least_rows = 13}).assign(example.input), "least-rows", "13", "8", "100", "12");
  CHECK_USAGE_ERROR(DirichletCapped({.alpha = 0.01, .least_rows = 12}).assign(example.input), "least-rows", "12", "10000", "8");
}

}  // namespace fedstride::test::dirichlet_capped_test

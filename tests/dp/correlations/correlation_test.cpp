// What correlated noise costs: sensitivities against brute force over patterns, and epsilons against formulas of their own.
#include "dp/correlations/correlation.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/correlations/participation.hpp"
#include "dp/correlations/toeplitz.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::correlation_test {
namespace {

doctest::Approx near(double value, double digits = 1e-9) { return doctest::Approx(value).epsilon(digits).scale(0); }

/// The delta of a Gaussian release at distance mu, by the complementary error function alone.
double delta_of(double mu, double epsilon) {
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  return below(mu / 2 - epsilon / mu) - std::exp(epsilon) * below(-mu / 2 - epsilon / mu);
}

/// The root of the largest square_of(pattern), of all patterns of at most so many rounds this far apart.
template <class Square>
double worst_pattern(std::size_t rounds, std::size_t separation, int at_most, const Square& square_of) {
  double most = 0;
  for (std::uint32_t pattern = 1; pattern < 1U << rounds; ++pattern) {
    bool allowed = std::popcount(pattern) <= at_most;
    for (std::size_t gap = 1; gap < separation; ++gap) allowed = allowed && (pattern & pattern << gap) == 0;
    if (allowed) most = std::max(most, square_of(pattern));
  }
  return std::sqrt(most);
}

/// The most that a sum of columns of C has as its norm; C's numbers are not negative.
double brute_force(const std::vector<double>& c, std::size_t rounds, std::size_t separation, int at_most = 32) {
  return worst_pattern(rounds, separation, at_most, [&](std::uint32_t pattern) {
    double square = 0;
    for (std::size_t row = 0; row < rounds; ++row) {
      double sum = 0;
      for (std::size_t lag = 0; lag <= row && lag < c.size(); ++lag)
        if ((pattern >> (row - lag) & 1) != 0) sum += c[lag];
      square += sum * sum;
    }
    return square;
  });
}

/// Likewise of the nodes of trees of so many rounds, whole or not.
double brute_force_of_trees(std::size_t length, std::size_t rounds, std::size_t separation, int at_most) {
  return worst_pattern(rounds, separation, at_most, [&](std::uint32_t pattern) {
    double square = 0;
    for (std::size_t tree = 0; tree < rounds; tree += length)
      for (std::size_t width = 1; width <= length; width *= 2)
        for (std::size_t node = 0; node + width <= std::min(length, rounds - tree); node += width) {
          const double in_it = std::popcount(pattern >> (tree + node) & ((1U << width) - 1));
          square += in_it * in_it;
        }
    return square;
  });
}

Releases one(const Correlation& correlation, double noise_multiplier, std::uint64_t rounds, double rate = 1) {
  return {.sampling = rate < 1 ? Sampling::poisson : Sampling::full,
          .neighbours = Neighbours::zero_out,
          .rate = rate,
          .noise_multiplier = noise_multiplier,
          .correlation = correlation,
          .rounds = rounds};
}

double epsilon_of(const Releases& releases, double delta) { return epsilon_by(Tight{}, std::vector{releases}, delta).value; }

}  // namespace

TEST_CASE("the sensitivity of the rounds so far is that of the worst pattern, for each mechanism") {
  for (const std::uint64_t separation : {1, 2, 3, 5})
    for (const std::uint64_t horizon : {6, 11}) {
      CAPTURE(separation);
      const auto blt = plan_correlation(BufferedNoise({2}), separation, horizon);
      const auto banded = plan_correlation(BandedNoise(), separation, horizon);
      const auto tree = plan_correlation(TreeNoise({4}), separation, horizon);
      double before = 0;
      for (std::uint64_t rounds = 1; rounds <= horizon; ++rounds) {
        const double found = correlated_sensitivity(blt, rounds);
        const double forced = brute_force(buffered_of(blt).coefficients(horizon), rounds, separation);
        CHECK(found >= forced);
        CHECK(found == near(forced));
        CHECK(correlated_sensitivity(tree, rounds) >= before);
        CHECK(correlated_sensitivity(tree, rounds) == near(brute_force_of_trees(4, rounds, separation, 32)));
        before = correlated_sensitivity(tree, rounds);
        const std::vector<double> c = banded.coefficients.empty() ? std::vector{1.0} : banded.coefficients;
        CHECK(c.size() <= separation);
        CHECK(correlated_sensitivity(banded, rounds) == near(brute_force(c, rounds, separation)));
      }
    }
  // Trees of 4 rounds, a client in each: a leaf and two nodes above it in every whole tree, then leaf and pair, then a leaf.
  const auto tree = plan_correlation(TreeNoise({4}), 4, 12);
  CHECK(correlated_sensitivity(tree, 12) == near(std::sqrt(3 * 3.0)));
  CHECK(correlated_sensitivity(tree, 9) == near(std::sqrt(3 + 3 + 1.0)));
  CHECK(correlated_sensitivity(plan_correlation(TreeNoise(), 16, 16), 16) == near(std::sqrt(5.0)));
}

TEST_CASE("a record that is in few rounds costs what the worst pattern of so many does, and never more than one of all") {
  constexpr std::uint64_t kHorizon = 11;
  for (const std::uint64_t separation : {1, 2, 3})
    for (const std::uint64_t most : {1, 2, 3, 4}) {
      CAPTURE(separation);
      CAPTURE(most);
      const int at_most = static_cast<int>(most);
      const auto blt = plan_correlation(BufferedNoise({2}), separation, kHorizon);
      const auto banded = plan_correlation(BandedNoise(), separation, kHorizon);
      const auto plain = plan_correlation(IndependentNoise(), separation, kHorizon);
      const std::vector<double> c = banded.coefficients.empty() ? std::vector{1.0} : banded.coefficients;
      for (const std::uint64_t rounds : {1, 4, 7, 11}) {
        CAPTURE(rounds);
        const double forced = brute_force(buffered_of(blt).coefficients(kHorizon), rounds, separation, at_most);
        CHECK(correlated_sensitivity(blt, rounds, most) == near(forced));
        CHECK(correlated_sensitivity(banded, rounds, most) == near(brute_force(c, rounds, separation, at_most)));
        CHECK(correlated_sensitivity(plain, rounds, most) == near(brute_force({1.0}, rounds, separation, at_most)));
        for (const std::uint64_t restart : {0, 4, 3}) {
          const auto tree = plan_correlation(TreeNoise({static_cast<int>(restart)}), separation, kHorizon);
          const double nodes = brute_force_of_trees(restart > 0 ? restart : kHorizon, rounds, separation, at_most);
          CHECK(correlated_sensitivity(tree, rounds, most) >= nodes);
          CHECK(correlated_sensitivity(tree, rounds, most) <= correlated_sensitivity(tree, rounds));
          if (most >= (rounds - 1) / separation + 1 || most == 1)
            CHECK(correlated_sensitivity(tree, rounds, most) == near(nodes));
        }
      }
      for (const Correlation& one : {blt, banded, plain})
        CHECK(correlated_sensitivity(one, kHorizon, kHorizon) == correlated_sensitivity(one, kHorizon));
    }
  // By hand: two bands, two of six rounds; as many releases of a tree as fit are those of no limit.
  const auto banded = plan_correlation(BandedNoise(), 2, 6);
  const double column = 1 + banded.coefficients[1] * banded.coefficients[1];
  Releases two = of_rounds(one(banded, 3, 1), 6, 2);
  CHECK(delta_of(std::sqrt(2 * column) / 3, epsilon_of(two, 1e-5)) == near(1e-5, 1e-6));
  Spending merged;
  for (const std::uint64_t round : {1, 2, 6}) merge(merged, of_rounds(one(banded, 3, 1), round, round < 6 ? 1 : 2));
  CHECK(epsilon_by(Tight{}, merged, 1e-5).value == epsilon_of(two, 1e-5));
  merge(merged, one(banded, 3, 2));  // of a record in any rounds
  CHECK(epsilon_by(Tight{}, merged, 1e-5).value == epsilon_of(one(banded, 3, 6), 1e-5));
}

TEST_CASE("epsilon by hand: six rounds, two bands, a client in three of them") {
  const auto banded = plan_correlation(BandedNoise(), 2, 6);
  REQUIRE(banded.coefficients.size() == 2);
  const double column = 1 + banded.coefficients[1] * banded.coefficients[1];
  const double z = 3;
  for (const auto& [rounds, square] : {std::pair{1, 1.0}, {2, column}, {3, column + 1}, {6, 3 * column}}) {
    const double mu = std::sqrt(square) / z;
    const double epsilon = epsilon_of(one(banded, z, static_cast<std::uint64_t>(rounds)), 1e-5);
    CHECK(delta_of(mu, epsilon) == near(1e-5, 1e-6));
  }
  // Independent noise under the same separation: three releases.
  const auto plain = plan_correlation(IndependentNoise(), 2, 6);
  CHECK(delta_of(std::sqrt(3.0) / z, epsilon_of(one(plain, z, 6), 1e-5)) == near(1e-5, 1e-6));
  // Replace-one moves sums twice as far.
  Releases replaced = one(banded, z, 6);
  replaced.neighbours = Neighbours::replace_one;
  CHECK(delta_of(2 * std::sqrt(3 * column) / z, epsilon_of(replaced, 1e-5)) == near(1e-5, 1e-6));
}

TEST_CASE("sampling within groups amplifies banded noise as it does one release for each of a client's rounds, and no other") {
  const auto banded = plan_correlation(BandedNoise(), 4, 30);
  double square = 0;
  for (const double c : banded.coefficients) square += c * c;
  const Releases sampled{.sampling = Sampling::poisson,
                         .neighbours = Neighbours::zero_out,
                         .rate = 0.2,
                         .noise_multiplier = 2 / std::sqrt(square),
                         .count = 8};
  CHECK(epsilon_of(one(banded, 2, 30, 0.2), 1e-6) == near(epsilon_of(sampled, 1e-6)));
  CHECK(epsilon_of(one(banded, 2, 30, 0.2), 1e-6) < epsilon_of(one(banded, 2, 30), 1e-6) / 2);
  for (const char* other : {"tree", "blt"}) {
    const auto mechanism = MechanismPart::family().make(other);
    const Releases refused = one(plan_correlation(static_cast<const MechanismPart&>(*mechanism), 4, 30), 2, 30, 0.2);
    for (const char* name : {"tight", "rdp", "basic"})
      CHECK(names(unsound_by(make_part<Accountant>("accountant", name), std::vector{refused}),
                  {std::string(other).c_str(), "poisson", "full"}));
    CHECK_THROWS_AS(epsilon_of(refused, 1e-6), Error);
  }
}

TEST_CASE("rounds count up to the last one, however many of them are listed; other releases add up beside them") {
  const auto blt = plan_correlation(BufferedNoise(), 3, 20);
  Spending all, some;
  for (std::uint64_t round = 1; round <= 10; ++round) merge(all, one(blt, 2, round));
  for (const std::uint64_t round : {10, 1, 7}) merge(some, one(blt, 2, round));
  CHECK(all.size() == 1);
  CHECK(epsilon_by(Tight{}, all, 1e-5).value == epsilon_of(one(blt, 2, 10), 1e-5));
  CHECK(epsilon_by(Tight{}, some, 1e-5).value == epsilon_of(one(blt, 2, 10), 1e-5));
  merge(all, {.sampling = Sampling::full, .neighbours = Neighbours::zero_out, .noise_multiplier = 4});
  const double mu = std::hypot(correlated_sensitivity(blt, 10) / 2, 1.0 / 4);
  for (const char* name : {"tight", "zcdp"}) CHECK(epsilon_by(make_part<Accountant>("accountant", name), all, 1e-5).value > 0);
  CHECK(delta_of(mu, epsilon_by(Tight{}, all, 1e-5).value) == near(1e-5, 1e-6));
  // Calibrated: the noise meets the budget, and a thousandth less does not.
  const auto spending = [&](double z) { return Spending{of_rounds(one(blt, z, 1), 20)}; };
  const double z = calibrate(Tight{}, spending, 2, 1e-5);
  CHECK(delta_of(correlated_sensitivity(blt, 20) / z, 2) <= 1e-5);
  CHECK(delta_of(correlated_sensitivity(blt, 20) / (z - 0.001), 2) > 1e-5);
}

TEST_CASE("one band is independent noise; what cannot be planned is refused with the value") {
  CHECK_FALSE(plan_correlation(BandedNoise(), 1, 100).on());
  CHECK_FALSE(plan_correlation(IndependentNoise(), 1, 100).on());
  CHECK(plan_correlation(BandedNoise(), 9, 4).coefficients.size() == 4);
  CHECK(kept_vectors(plan_correlation(BandedNoise(), 5, 100)) == 4);
  CHECK(kept_vectors(plan_correlation(BufferedNoise({3}), 5, 100)) == 3);
  CHECK(kept_vectors(plan_correlation(TreeNoise(), 1, 100)) == 7);
  CHECK(kept_vectors(plan_correlation(TreeNoise({8}), 1, 100)) == 4);
  CHECK_THROWS_AS(plan_correlation(TreeNoise(), 1, std::uint64_t{1} << 21), Error);
  Correlation other = plan_correlation(BandedNoise(), 3, 10);
  other.coefficients.push_back(0.1);  // more bands than the separation
  CHECK(names(objection(other), {"banded", "4", "3"}));
  other = plan_correlation(BufferedNoise(), 3, 10);
  other.coefficients[0] = 2;
  CHECK(names(objection(other), {"blt", "at most 1"}));
  other = plan_correlation(TreeNoise(), 3, 10);
  other.horizon = 0;
  CHECK(names(objection(other), {"tree", "0 rounds"}));
}

TEST_CASE("the noise of a weighted sum of rounds is |C^-T f|; that of a tree's prefix is the estimate's variance") {
  std::vector<double> factors;
  for (int t = 0; t < 11; ++t) factors.push_back(1 / (1.0 + t) - 0.05 * t);
  const auto dense = [&](const std::vector<double>& inverse) {
    double square = 0;
    for (std::size_t from = 0; from < factors.size(); ++from) {
      double column = 0;
      for (std::size_t t = from; t < factors.size(); ++t) column += factors[t] * inverse[t - from];
      square += column * column;
    }
    return std::sqrt(square);
  };
  const Correlation blt = plan_correlation(BufferedNoise({2}), 3, 11);
  CHECK(combined_deviation(blt, factors) == near(dense(inverse_series(buffered_of(blt).coefficients(11), 11))));
  const Correlation banded = plan_correlation(BandedNoise(), 4, 11);
  CHECK(combined_deviation(banded, factors) == near(dense(inverse_series(banded.coefficients, 11))));
  CHECK(combined_deviation(plan_correlation(IndependentNoise(), 3, 11), factors) ==
        near(dense({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  for (const int restart : {0, 4})
    for (const std::size_t rounds : {1, 4, 7, 11}) {
      const double whole = restart == 0 ? 0 : static_cast<double>(rounds / 4) * tree_variance(4, true);
      const double variance = whole + tree_variance(restart == 0 ? rounds : rounds % 4, true);
      const Correlation tree = plan_correlation(TreeNoise({restart}), 1, 11);
      CHECK(combined_deviation(tree, std::vector<double>(rounds, 1.0)) == near(std::sqrt(variance)));
    }
}

}  // namespace fedstride::test::correlation_test

// Adaptive clipping, correlated noise, many rows a person, accounted choice, one-run audits: known numbers, and properties.
// tests/python/test_accounting.py computes all of it a second time.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/one_run_audit.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/selection.hpp"
#include "dp/accountants/user_mixture.hpp"
#include "dp/correlations/buffered_toeplitz.hpp"
#include "dp/correlations/participation.hpp"
#include "dp/correlations/toeplitz.hpp"
#include "dp/correlations/tree.hpp"

namespace fedstride::test::frontier_test {
namespace {

doctest::Approx to(double value, double digits) { return doctest::Approx(value).epsilon(digits).scale(0); }

RandomStream draws(std::uint32_t number) { return {1, {.purpose = Purpose::test, .round = number}}; }

/// The most over all patterns and directions of one dimension (signs), of C x squared.
double brute_force(const std::vector<double>& matrix, std::size_t steps, const Participation& participation) {
  double most = 0;
  for (std::uint32_t pattern = 1; pattern < 1U << steps; ++pattern) {
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < steps; ++i)
      if ((pattern >> i & 1) != 0) at.push_back(i);
    bool allowed = participation.most == 0 || at.size() <= participation.most;
    for (std::size_t i = 1; i < at.size(); ++i) allowed = allowed && at[i] - at[i - 1] >= participation.separation;
    if (!allowed) continue;
    for (std::uint32_t signs = 0; signs < 1U << (at.size() - 1); ++signs) {
      double square = 0;
      for (std::size_t row = 0; row < steps; ++row) {
        double value = 0;
        for (std::size_t i = 0; i < at.size(); ++i) value += matrix[row * steps + at[i]] * ((signs >> i & 1) != 0 ? -1 : 1);
        square += value * value;
      }
      most = std::max(most, square);
    }
  }
  return std::sqrt(most);
}

std::vector<double> dense(const std::vector<double>& c, std::size_t steps) {
  std::vector<double> matrix(steps * steps, 0.0);
  for (std::size_t row = 0; row < steps; ++row)
    for (std::size_t lag = 0; lag <= row && lag < c.size(); ++lag) matrix[row * steps + row - lag] = c[lag];
  return matrix;
}

}  // namespace

TEST_CASE("the optimal Toeplitz matrix and its loss") {
  for (const auto& [steps, root] :
       {std::pair{8, 1.718379}, {100, 2.531352}, {1000, 3.265003}, {2048, 3.493229}, {10000, 3.998010}}) {
    const auto c = optimal_toeplitz(static_cast<std::size_t>(steps));
    double square = 0;
    for (const double one : c) square += one * one;
    CHECK(square == to(root, 1e-6));
    CHECK(largest_prefix_error(c, c.size()) * std::sqrt(square) == to(root, 1e-6));
    CHECK(toeplitz_sensitivity(c, c.size(), {c.size(), 1}).value == to(std::sqrt(square), 1e-10));
  }
  CHECK(optimal_toeplitz(5) == std::vector<double>{1, 0.5, 0.375, 0.3125, 0.2734375});
  CHECK(inverse_series(optimal_toeplitz(5), 5) == std::vector<double>{1, -0.5, -0.125, -0.0625, -0.0390625});
  CHECK(largest_prefix_error(std::vector<double>{1.0}, 100) == to(10, 1e-12));
}

TEST_CASE("banded Toeplitz: between independent noise and the dense optimum, better than the first coefficients") {
  const auto loss = [](const std::vector<double>& c, std::size_t steps) {
    return largest_prefix_error(c, steps) * toeplitz_sensitivity(c, steps, {steps, 1}).value;
  };
  CHECK(optimal_banded_toeplitz(1, 100) == std::vector<double>{1.0});
  double before = 10;
  for (const std::size_t bands : {2, 4, 16, 100}) {
    auto first = optimal_toeplitz(100);
    first.resize(bands);
    const auto c = optimal_banded_toeplitz(bands, 100);
    CHECK(loss(c, 100) < before);
    CHECK(loss(c, 100) <= loss(first, 100) * (1 + 1e-12));
    CHECK(loss(c, 100) >= 2.531352 * (1 - 1e-6));
    before = loss(c, 100);
  }
  CHECK(before == to(2.531352, 1e-6));
}

TEST_CASE("sensitivity under a separation: known cases") {
  const std::vector x{1.0, 0.5, 0.5, 0.5, 0.1};
  CHECK(largest_separated_sum(x, {1, 0}) == to(2.6, 1e-14));
  CHECK(largest_separated_sum(x, {2, 0}) == to(1.6, 1e-14));
  CHECK(matrix_sensitivity(std::vector<double>{1.0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 3, -6.0}, 4, {4, 1}).value ==
        to(6, 1e-10));
  CHECK(matrix_sensitivity(std::vector<double>{1.0, 0, 0, 2, 1, 0, 0, 1, 1.0}, 3, {3, 1}).value == to(std::sqrt(5), 1e-10));
  // The sum of the columns' squared norms, 2.25, is too little where columns overlap.
  CHECK(matrix_sensitivity(std::vector<double>{1, 0, 0.5, 1}, 2, {1, 0}).value == to(std::sqrt(3.25), 1e-10));
  CHECK(toeplitz_sensitivity(std::vector<double>{1, 0.5}, 2, {1, 0}).value == to(std::sqrt(3.25), 1e-10));
  CHECK_THROWS_AS(matrix_sensitivity(std::vector<double>{1.0, 1, 0, 1}, 2, {1, 0}), Error);
}

TEST_CASE("sensitivity is never below brute force over patterns and signs, and equal to it where a theorem says so") {
  std::uint32_t number = 0;
  for (std::size_t steps = 1; steps <= 10; ++steps)
    for (std::size_t bands = 1; bands <= steps; bands += 1 + bands / 3)
      for (std::size_t separation = 1; separation <= steps; separation += 1 + separation / 3)
        for (const std::size_t most : {std::size_t{0}, std::size_t{2}}) {
          auto random = draws(++number);
          const Participation participation{separation, most};
          std::vector<double> c(bands), falling(bands, 1.0), matrix(steps * steps, 0.0);
          for (std::size_t i = 0; i < bands; ++i) c[i] = i == 0 ? 1 : random.normal() / 2;
          for (std::size_t i = 1; i < bands; ++i) falling[i] = falling[i - 1] * random.uniform();
          for (std::size_t row = 0; row < steps; ++row)
            for (std::size_t lag = 0; lag <= row && lag < bands; ++lag) matrix[row * steps + row - lag] = random.normal();
          const auto any = matrix_sensitivity(matrix, steps, participation);
          const double forced = brute_force(matrix, steps, participation);
          CHECK(any.value >= forced);
          if (any.exact) CHECK(any.value == to(forced, 1e-9));
          CHECK(any.exact == (separation >= bands || most_participations(steps, participation) == 1 || any.exact));
          const auto toeplitz = toeplitz_sensitivity(c, steps, participation);
          const double of_c = brute_force(dense(c, steps), steps, participation);
          CHECK(toeplitz.value >= of_c);
          if (toeplitz.exact) CHECK(toeplitz.value == to(of_c, 1e-9));
          const auto fall = toeplitz_sensitivity(falling, steps, participation);
          CHECK(fall.exact);
          CHECK(fall.value == to(brute_force(dense(falling, steps), steps, participation), 1e-9));
        }
}

TEST_CASE("tree: depth, bound on the sensitivity, both estimators") {
  for (std::uint64_t steps = 1; steps < 2000; ++steps)
    CHECK(static_cast<double>(tree_depth(steps)) == std::ceil(std::log2(static_cast<double>(steps) + 1)));
  CHECK(tree_sensitivity(1024, 1024) == to(std::sqrt(11), 1e-12));
  CHECK(tree_variance(1023, false) == 10);
  CHECK(tree_variance(1, true) == 1);
  CHECK(tree_variance(2, true) == to(2.0 / 3, 1e-12));
  CHECK(tree_variance(1 << 20, true) == to(0.5, 1e-5));
  // Every node's row of the tree's matrix, complete nodes alone.
  for (std::size_t steps = 1; steps <= 12; ++steps)
    for (std::size_t separation = 1; separation <= steps; ++separation) {
      double most = 0;
      for (std::uint32_t pattern = 1; pattern < 1U << steps; ++pattern) {
        int last = -100;
        bool allowed = true;
        for (int i = 0; i < static_cast<int>(steps); ++i)
          if ((pattern >> i & 1) != 0) {
            allowed = allowed && i - last >= static_cast<int>(separation);
            last = i;
          }
        if (!allowed) continue;
        double square = 0;
        for (std::size_t width = 1; width <= steps; width *= 2)
          for (std::size_t begin = 0; begin + width <= steps; begin += width) {
            const double in = std::popcount(pattern >> begin & ((1U << width) - 1));
            square += in * in;
          }
        most = std::max(most, square);
      }
      CHECK(tree_sensitivity(steps, separation) == to(std::sqrt(most), 1e-11));
    }
  // Exactly the separation apart is the worst pattern here, by brute force over where it begins.
  CHECK(tree_sensitivity(100, 10) == to(std::sqrt(141), 1e-11));
  CHECK(tree_sensitivity(100, 4) == to(std::sqrt(667), 1e-11));
  CHECK(tree_sensitivity(500, 25) == to(std::sqrt(385), 1e-11));
  // With coarser places, and for the longest runs, it is still close to such a pattern.
  for (const auto& [steps, separation] : {std::pair{4096, 41}, {100'000, 1000}, {1 << 20, 64}}) {
    double square = 0;
    for (std::int64_t width = 1; width <= steps; width *= 2)
      for (std::int64_t begin = 0; begin + width <= steps; begin += width) {
        const auto before = [&](std::int64_t end) { return static_cast<double>((end + separation - 1) / separation); };
        square += std::pow(before(begin + width) - before(begin), 2);
      }
    const double found = tree_sensitivity(static_cast<std::uint64_t>(steps), static_cast<std::uint64_t>(separation));
    CHECK(found >= std::sqrt(square));
    CHECK(found < 1.01 * std::sqrt(square));
  }
}

TEST_CASE("buffered Toeplitz: streams, inverse, start and optimum") {
  const double tolerances[] = {1.10, .41, .25, .25, .15, .15, .09, .09, .06, .06};
  for (std::size_t buffers = 1; buffers <= 10; ++buffers) {
    const BufferedToeplitz start = rational_buffered_toeplitz(buffers);
    check_buffered(start);
    const auto c = start.coefficients(10), best = optimal_toeplitz(10);
    for (std::size_t k = 0; k < c.size(); ++k) CHECK(std::abs(c[k] / best[k] - 1) < tolerances[buffers - 1]);
  }
  constexpr std::size_t kSteps = 300;
  for (const std::size_t buffers : {1, 2, 4}) {
    const BufferedToeplitz found = optimal_buffered_toeplitz(buffers, kSteps, {kSteps, 1});
    check_buffered(found);
    const auto c = found.coefficients(kSteps);
    auto random = draws(9);
    BufferedStream forward(found), back(found), there(found);
    const auto inverse = inverse_series(c, kSteps);
    std::vector<double> x(kSteps);
    for (std::size_t t = 0; t < kSteps; ++t) {
      x[t] = random.normal();
      double multiplied = 0, inverted = 0;
      for (std::size_t k = 0; k <= t; ++k) {
        multiplied += c[k] * x[t - k];
        inverted += inverse[k] * x[t - k];
      }
      const double y = forward.multiply(x[t]);
      CHECK(std::abs(y - multiplied) < 1e-12);
      CHECK(std::abs(back.invert(x[t]) - inverted) < 1e-12);
      CHECK(std::abs(there.invert(y) - x[t]) < 1e-12);
    }
    const double loss = largest_prefix_error(c, kSteps) * toeplitz_sensitivity(c, kSteps, {kSteps, 1}).value;
    const double best = 2.8818;  // (ln 300 + 0.5772 + ln 16) / pi
    CHECK(loss > best * 0.999);
    CHECK(loss < best * (buffers == 1 ? 1.4 : buffers == 2 ? 1.06 : 1.01));
  }
}

TEST_CASE("a person with many rows: known numbers, one row, composition") {
  CHECK(user_mixture_delta({1, 0.5, 1}, 0.5) == to(0.079945, 1e-5));
  CHECK(user_mixture_delta({1, 0.5, 1}, 1) == to(0.028868, 2e-5));
  CHECK(std::abs(user_mixture_delta({2, 0.5, 1}, 0.5) - 0.246475) < 5.1e-7);
  CHECK(std::abs(user_mixture_delta({2, 0.5, 1}, 1) - 0.166033) < 5.1e-7);
  CHECK(user_mixture_delta({5, 0.1, 1}, 0.5) == to(0.089022, 1e-5));
  CHECK(user_mixture_delta({5, 0.1, 1}, 1) == to(0.047420, 2e-5));
  CHECK(user_mixture_epsilon({3, 1, 2}, 1e-5) == to(gaussian_epsilon(1.5, 1e-5), 1e-7));
  for (const double order : {1.5, 8.0, 32.0}) {
    const Releases release{.rate = 0.1, .noise_multiplier = 1.5};
    CHECK(user_mixture_rdp({1, 0.1, 1.5}, order) == to(release_rdp(release, order), 1e-7));
    CHECK(user_mixture_rdp({3, 1, 2}, order) == to(order * 9 / 8, 1e-7));
  }
  const std::vector<double> orders{1.5, 64, 3, 8.5};  // at once as one by one
  const std::vector<double> together = user_mixture_rdp({7, 0.05, 1.2}, orders);
  for (std::size_t i = 0; i < orders.size(); ++i) CHECK(together[i] == to(user_mixture_rdp({7, 0.05, 1.2}, orders[i]), 1e-13));
  CHECK(user_mixture_epsilon({4, 0.01, 1}, std::uint64_t{1}, 1e-5) >= user_mixture_epsilon({4, 0.01, 1}, 1e-5));
}

TEST_CASE("the best of a random number of runs: known numbers") {
  std::vector<double> orders(order_grid(OrderGrid::standard).begin(), order_grid(OrderGrid::standard).end()), divergences;
  for (const double order : orders) divergences.push_back(0.1 * order);
  const auto epsilon = [&](SelectionRuns runs, double mean, double shape) {
    return selection_epsilon({runs, mean, shape}, orders, divergences, 1e-6);
  };
  CHECK(epsilon(SelectionRuns::negative_binomial, 10, 1) == to(4.06880, 2e-6));
  CHECK(epsilon(SelectionRuns::negative_binomial, 100, 1) == to(5.05432, 2e-6));
  CHECK(epsilon(SelectionRuns::negative_binomial, 10, 0) == to(3.45188, 2e-6));
  CHECK(epsilon(SelectionRuns::negative_binomial, 100, 0) == to(4.04919, 2e-6));
  CHECK(epsilon(SelectionRuns::negative_binomial, 10, 2) == to(4.57163, 2e-6));
  CHECK(epsilon(SelectionRuns::negative_binomial, 100, 2) == to(6.00198, 2e-6));
  CHECK(epsilon(SelectionRuns::poisson, 10, 0) == to(4.60741, 2e-6));
  const struct {
    double shape, mean, gamma;
  } known[] = {{0, 10, 0.02691826}, {0, 100, 0.001542115}, {0.5, 10, 0.0625},   {0.5, 100, 0.005366274},
               {1, 10, 0.1},        {1, 100, 0.01},        {2, 10, 0.17082039}, {2, 100, 0.01961524}};
  for (const auto& one : known) CHECK(negative_binomial_gamma(one.shape, one.mean) == to(one.gamma, 4e-7));
}

TEST_CASE("an audit in one run: known lower bounds") {
  const auto bound = [](std::uint64_t m, std::uint64_t r, std::uint64_t v, double delta) {
    return one_run_epsilon({m, r, v}, delta, 0.05);
  };
  CHECK(bound(1000, 100, 100, 1e-5) == to(3.465376, 3e-7));
  CHECK(bound(1000, 100, 95, 1e-5) == to(2.165176, 3e-7));
  CHECK(bound(1000, 100, 90, 1e-5) == to(1.626143, 4e-7));
  CHECK(bound(1000, 100, 100, 0) == to(3.492965, 2e-7));
  CHECK(bound(1000, 1000, 600, 1e-5) == to(0.297227, 2e-6));
  CHECK(bound(1000, 1000, 750, 1e-5) == to(0.976367, 1e-6));
  CHECK(bound(1000, 1000, 1000, 1e-5) == to(5.782283, 2e-7));
  CHECK(bound(10000, 100, 100, 1e-5) == to(3.202304, 2e-7));
  CHECK(bound(1000, 100, 50, 1e-5) == 0);
}

TEST_CASE("an audit by scores: known pairs of bounds") {
  // The quantiles of N(shift, 1) and N(0, 1), by bisection.
  constexpr std::size_t kScores = 10000;
  std::vector<double> out(kScores);
  for (std::size_t i = 0; i < kScores; ++i) {
    double low = -10, high = 10;
    for (int k = 0; k < 60; ++k) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < (static_cast<double>(i) + 0.5) / kScores ? low : high) = middle;
    }
    out[i] = low;
  }
  const struct {
    double shift, one_run, gaussian;
  } known[] = {{1, 1.13346, 2.164749}, {2, 2.311945, 4.7218075}, {4, 4.395568, 9.133752}};
  for (const auto& one : known) {
    std::vector<double> in = out;
    for (double& score : in) score += one.shift;
    const ScoredAudit found = one_run_audit(in, out, 1e-6, 0.05);
    CHECK(found.epsilon == to(one.one_run, 1e-5));
    CHECK(found.gaussian_epsilon == to(one.gaussian, 1e-5));
    CHECK(found.gaussian_epsilon < gaussian_epsilon(one.shift, 1e-6));
  }
}

}  // namespace fedstride::test::frontier_test

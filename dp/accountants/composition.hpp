#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// `count` steps, each (epsilon, delta)-private.
struct ApproximateSteps {
  double epsilon = 0;
  double delta = 0;
  std::uint64_t count = 1;
};

/// ln(1 + q (exp(epsilon) - 1))
double amplified_epsilon(double epsilon, double rate);

/// Returns the steps of a spending that merged() returned, each with delta `step_delta`. Their epsilon comes from the Gaussian's
/// exact curve at delta0 = step_delta / q, amplified to (ln(1 + q (exp(epsilon0) - 1)), q delta0) (Balle, Barthe, Gaboardi 2018).
/// Sampling may be full, Poisson or, under replace-one, without replacement.
std::vector<ApproximateSteps> approximate_steps(const Spending& merged, double step_delta);

/// The epsilon of all steps together, not counting their deltas; `slack` is the delta of the composition itself.
double basic_composition(std::span<const ApproximateSteps> steps);
/// Dwork, Rothblum, Vadhan 2010, Theorem III.3: epsilon sqrt(2 k ln(1/slack)) + k epsilon (exp(epsilon) - 1).
double advanced_composition(std::span<const ApproximateSteps> steps, double slack);
/// Kairouz, Oh, Viswanath 2015, Theorem 3.5, the last of its three bounds.
double heterogeneous_composition(std::span<const ApproximateSteps> steps, double slack);
/// Kairouz, Oh, Viswanath 2015, Theorem 3.3: the smallest delta for which `count` (epsilon, 0)-private steps together are (total,
/// delta)-private; `total` may lie between the theorem's grid points, (count - 2i) epsilon.
double optimal_composition_delta(double epsilon, std::uint64_t count, double total);
double optimal_composition(double epsilon, std::uint64_t count, double slack);

}  // namespace fedstride

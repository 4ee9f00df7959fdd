#pragma once

#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace fedstride {

/// The distribution of the number of private training runs of which only the best is published (Papernot & Steinke 2022). The
/// number is drawn in advance; all runs have the same privacy parameters, and nothing else about them may be revealed.
enum class SelectionRuns {
  negative_binomial,  ///< truncated to 1, 2, ..., with shape eta > -1 (1: geometric, 0: logarithmic)
  poisson,            ///< may draw 0 runs
};

struct Selection {
  SelectionRuns runs = SelectionRuns::negative_binomial;
  double mean = 10;  ///< expected number of runs
  double shape = 1;  ///< eta
};

/// The mean of the truncated negative binomial, eta (1/gamma - 1) / (1 - gamma^eta), and its inverse, which returns gamma. Throw
/// Error (usage) for eta <= -1, gamma outside (0, 1), or a mean of 1 or less.
double negative_binomial_mean(double shape, double gamma);
double negative_binomial_gamma(double shape, double mean);

/// Draws the number of runs. Throws Error (usage) for a distribution that selection_epsilon refuses.
std::uint64_t draw_runs(const Selection& selection, RandomStream& random);

/// The epsilon of the published result for a given `delta`, computed from one run's Rényi divergences at these orders, all above
/// 1, by the improved conversion. Negative binomial (their Theorem 2): R(a) + (1 + eta) min_b ((1 - 1/b) R(b) + ln(1/gamma) / b)
/// + ln(mean) / (a - 1). Poisson (Theorem 6): R(a) + mean d(ln(1 + 1/(a-1))) + ln(mean) / (a - 1), where d is the run's delta,
/// from the same orders.
double selection_epsilon(const Selection& selection, std::span<const double> orders, std::span<const double> divergences,
                         double delta);

}  // namespace fedstride

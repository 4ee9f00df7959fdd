#include "dp/accountants/selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {
namespace {

void check_eta(double shape) {
  if (!(shape > -1) || !(shape <= 1e3))
    throw usage_error("shape is " + number_text(shape) + "; valid: above -1 and at most 1000");
}

}  // namespace

double negative_binomial_mean(double shape, double gamma) {
  check_eta(shape);
  if (!(gamma > 0) || !(gamma < 1)) throw usage_error("gamma is " + number_text(gamma) + "; it must be between 0 and 1");
  const double log = std::log(gamma);
  const double odds = (1 - gamma) / gamma;
  // The divisor is (1 - gamma^eta) / eta, or -ln(gamma) for eta = 0.
  return odds / (shape == 0 ? -log : -std::expm1(shape * log) / shape);
}

double negative_binomial_gamma(double shape, double mean) {
  check_eta(shape);
  if (!(mean > 1) || !(mean <= 1e9)) throw usage_error("mean is " + number_text(mean) + "; it must be above 1 and at most 1e9");
  double low = 1e-300, high = 1 - 1e-12;  // the mean decreases in gamma; invariant: mean(low) >= mean
  if (negative_binomial_mean(shape, high) > mean) return high;
  for (int i = 0; i < 2000 && high - low > 1e-15 * low; ++i) {
    const double middle = high > 4 * low ? std::sqrt(low * high) : (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (negative_binomial_mean(shape, middle) >= mean ? low : high) = middle;
  }
  return low;
}

std::uint64_t draw_runs(const Selection& selection, RandomStream& random) {
  constexpr std::uint64_t kMostRuns = 100'000'000;
  // The smallest number whose cumulative probability is above a uniform draw; `rise(k)` is P(k + 1) / P(k).
  const auto invert = [&](std::uint64_t first, double probability, auto rise) {
    double left = random.uniform() - probability;
    std::uint64_t k = first;
    for (; left >= 0 && k < kMostRuns; ++k) {
      probability *= rise(static_cast<double>(k));
      left -= probability;
    }
    return k;
  };
  if (selection.runs == SelectionRuns::poisson) {
    if (!(selection.mean > 0) || !(selection.mean <= 1e9))
      throw usage_error("mean is " + number_text(selection.mean) + "; it must be above 0 and at most 1e9");
    constexpr double kPart = 100;  // a sum of independent Poisson draws is Poisson
    std::uint64_t runs = 0;
    for (double left = selection.mean; left > 0 && runs < kMostRuns; left -= kPart) {
      const double mean = std::min(left, kPart);
      runs += invert(0, std::exp(-mean), [mean](double k) { return mean / (k + 1); });
    }
    return runs;
  }
  const double shape = selection.shape, gamma = negative_binomial_gamma(shape, selection.mean);
  const double once = shape == 0 ? (1 - gamma) / -std::log(gamma) : shape * (1 - gamma) / std::expm1(-shape * std::log(gamma));
  return invert(1, once, [=](double k) { return (1 - gamma) * (k + shape) / (k + 1); });
}

double selection_epsilon(const Selection& selection, std::span<const double> orders, std::span<const double> divergences,
                         double delta) {
  check_delta(delta);
  if (orders.empty() || orders.size() != divergences.size())
    throw usage_error("orders and divergences are " + std::to_string(orders.size()) + " and " +
                      std::to_string(divergences.size()) + "; valid: equally many of both, at least 1");
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (!(orders[i] > 1) || !(divergences[i] >= 0))
      throw usage_error("orders must be above 1, and divergences must not be negative");
  double least = std::numeric_limits<double>::infinity();
  double mean = selection.mean;
  double choosing = 0;
  if (selection.runs == SelectionRuns::negative_binomial) {
    const double gamma = negative_binomial_gamma(selection.shape, mean);
    mean = negative_binomial_mean(selection.shape, gamma);
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < orders.size(); ++i)
      smallest = std::min(smallest, (1 - 1 / orders[i]) * divergences[i] - std::log(gamma) / orders[i]);
    choosing = (1 + selection.shape) * smallest;
  } else if (!(mean > 0) || !(mean <= 1e9)) {
    throw usage_error("mean is " + number_text(mean) + "; it must be above 0 and at most 1e9");
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    double more = choosing;
    if (selection.runs == SelectionRuns::poisson) {
      double log_delta = 0;
      for (std::size_t j = 0; j < orders.size(); ++j)
        log_delta =
            std::min(log_delta, log_delta_at(Conversion::improved, orders[j], divergences[j], std::log1p(1 / (orders[i] - 1))));
      more = mean * std::exp(log_delta);
    }
    // Negative if the mean is below 1; the result is raised to at least 0 below.
    more += std::log(mean) / (orders[i] - 1);
    least = std::min(least, epsilon_at(Conversion::improved, orders[i], divergences[i] + more, delta));
  }
  return std::max(least, 0.0);
}

}  // namespace fedstride

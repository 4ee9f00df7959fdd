#include "dp/correlations/toeplitz.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/minimize.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxToeplitzSteps = std::size_t{1} << 24;
constexpr double kMaxProducts = 4e9;

void check_coefficients(std::span<const double> coefficients, std::size_t steps) {
  if (steps == 0 || steps > kMaxToeplitzSteps) throw usage_error("steps are " + std::to_string(steps) + "; valid: 1 to 16777216");
  if (coefficients.empty() || !(coefficients[0] > 0)) throw usage_error("the first coefficient must be positive");
  for (const double value : coefficients)
    if (!std::isfinite(value)) throw usage_error("a coefficient is " + number_text(value) + "; coefficients must be finite");
  if (static_cast<double>(std::min(coefficients.size(), steps)) * static_cast<double>(steps) > kMaxProducts)
    throw usage_error(std::to_string(coefficients.size()) + " coefficients over " + std::to_string(steps) +
                      " steps take too long; valid: at most 4e9 products");
}

/// Solves c * y = x for y, as power series.
std::vector<double> series_quotient(std::span<const double> x, std::span<const double> c) {
  std::vector<double> y(x.size());
  for (std::size_t t = 0; t < x.size(); ++t) {
    double value = x[t];
    for (std::size_t lag = 1; lag <= std::min(t, c.size() - 1); ++lag) value -= c[lag] * y[t - lag];
    y[t] = value / c[0];
  }
  return y;
}

}  // namespace

std::vector<double> optimal_toeplitz(std::size_t steps) {
  if (steps == 0 || steps > kMaxToeplitzSteps) throw usage_error("steps are " + std::to_string(steps) + "; valid: 1 to 16777216");
  std::vector<double> c(steps, 1.0);
  for (std::size_t k = 1; k < steps; ++k) c[k] = c[k - 1] * (2 * static_cast<double>(k) - 1) / (2 * static_cast<double>(k));
  return c;
}

std::vector<double> inverse_series(std::span<const double> coefficients, std::size_t steps) {
  check_coefficients(coefficients, steps);
  std::vector<double> one(steps, 0.0);
  one[0] = 1;
  return series_quotient(one, coefficients);
}

double largest_prefix_error(std::span<const double> coefficients, std::size_t steps) {
  double prefix = 0;
  double square = 0;
  for (const double value : inverse_series(coefficients, steps)) {
    prefix += value;
    square += prefix * prefix;
  }
  return std::sqrt(square);
}

std::vector<double> optimal_banded_toeplitz(std::size_t bands, std::size_t steps) {
  constexpr double kMostOptimized = 1 << 22;
  if (bands == 0 || bands > steps)
    throw usage_error("bands are " + std::to_string(bands) + "; valid: 1 to the number of steps, " + std::to_string(steps));
  std::vector<double> start = optimal_toeplitz(std::max(steps, bands));
  start.resize(bands);
  check_coefficients(start, steps);
  if (bands == 1) return start;
  if (static_cast<double>(bands) * static_cast<double>(steps) > kMostOptimized)
    throw usage_error(std::to_string(bands) + " bands over " + std::to_string(steps) +
                      " steps take too long to optimize; valid: at most 4194304 bands x steps");
  // Returns log(|c| |B|) and sets its gradient, where w = 1 / c, B is the prefix sums of w, and dw = -w * w * dc.
  const auto value = [&](std::span<const double> at, std::span<double> gradient) {
    std::vector<double> c(1, 1.0);
    c.insert(c.end(), at.begin(), at.end());
    const std::vector<double> w = inverse_series(c, steps);
    std::vector<double> later(steps);
    double size = 0, error = 0, prefix = 0;
    for (const double one : c) size += one * one;
    for (std::size_t t = 0; t < steps; ++t) {
      later[t] = prefix += w[t];
      error += prefix * prefix;
    }
    if (!std::isfinite(error)) return error;
    for (std::size_t t = steps - 1; t-- > 0;) later[t] += later[t + 1];
    const std::vector<double> square = series_quotient(w, c);
    for (std::size_t j = 1; j < bands; ++j) {
      double slope = 0;
      for (std::size_t t = j; t < steps; ++t) slope -= later[t] * square[t - j];
      gradient[j - 1] = c[j] / size + slope / error;
    }
    return std::log(size * error) / 2;
  };
  std::vector<double> found = minimize({start.begin() + 1, start.end()}, 200, value);
  std::ranges::copy(found, start.begin() + 1);
  return start;
}

}  // namespace fedstride

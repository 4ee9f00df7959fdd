#include "dp/correlations/participation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxMatrix = 1024;
constexpr std::size_t kMaxPatternSteps = std::size_t{1} << 24;
constexpr double kSensitivityRounding = 1e-12;

void check_pattern(std::size_t steps, const Participation& participation, std::size_t most) {
  if (steps == 0 || steps > most)
    throw usage_error("steps are " + std::to_string(steps) + "; valid: 1 to " + std::to_string(most));
  if (participation.separation == 0) throw usage_error("separation is 0; it must be at least 1");
}

Sensitivity rounded_root(double square, bool exact) { return {std::sqrt(square) * (1 + kSensitivityRounding), exact}; }

}  // namespace

std::size_t most_participations(std::size_t steps, const Participation& participation) {
  const std::size_t fit = (steps - 1) / participation.separation + 1;
  return participation.most == 0 ? fit : std::min(fit, participation.most);
}

double largest_separated_sum(std::span<const double> values, const Participation& participation) {
  check_pattern(values.size(), participation, kMaxPatternSteps);
  const std::size_t most = most_participations(values.size(), participation);
  const std::size_t size = values.size();
  // If no allowed pattern has more rounds than `most`, rounds need no counting.
  const bool counted = participation.most != 0 && most < (size - 1) / participation.separation + 1;
  std::vector<double> before(size + 1, 0.0), best(size + 1, 0.0);
  for (std::size_t k = 0; k < (counted ? most : 1); ++k) {
    check_stop();
    std::fill(best.begin(), best.end(), 0.0);
    for (std::size_t i = size; i-- > 0;) {
      const std::size_t next = std::min(i + participation.separation, size);
      best[i] = std::max(values[i] + (counted ? before : best)[next], best[i + 1]);
    }
    std::swap(before, best);
  }
  return before[0];
}

Sensitivity matrix_sensitivity(std::span<const double> matrix, std::size_t steps, const Participation& participation) {
  check_pattern(steps, participation, kMaxMatrix);
  if (matrix.size() != steps * steps)
    throw usage_error("the matrix has " + std::to_string(matrix.size()) + " entries; " + std::to_string(steps) + " steps need " +
                      std::to_string(steps * steps));
  std::size_t bands = 1;
  std::vector<double> columns(steps * steps);  // transposed, so column products read contiguous memory
  for (std::size_t row = 0; row < steps; ++row)
    for (std::size_t column = 0; column < steps; ++column) {
      const double value = matrix[row * steps + column];
      if (!std::isfinite(value)) throw usage_error("the matrix has an entry that is not finite");
      if (column > row && value != 0) throw usage_error("the matrix is not lower triangular: noise would depend on later rounds");
      columns[column * steps + row] = value;
      if (value != 0) bands = std::max(bands, row - column + 1);
    }
  const auto product = [&](std::size_t i, std::size_t j) {  // inner product of columns i <= j
    double sum = 0;
    for (std::size_t row = j; row < std::min(steps, i + bands); ++row) sum += columns[i * steps + row] * columns[j * steps + row];
    return sum;
  };
  if (participation.separation >= bands || most_participations(steps, participation) == 1) {
    std::vector<double> squares(steps);
    for (std::size_t i = 0; i < steps; ++i) squares[i] = product(i, i);
    return rounded_root(largest_separated_sum(squares, participation), true);
  }
  std::vector<double> sizes(steps * steps);
  for (std::size_t i = 0; i < steps; ++i) {
    check_stop();
    // A pattern with round i has no other round within the separation.
    sizes[i * steps + i] = product(i, i);
    for (std::size_t j = i + participation.separation; j < steps; ++j)
      sizes[i * steps + j] = sizes[j * steps + i] = std::abs(product(i, j));
  }
  std::vector<double> rows(steps);
  for (std::size_t i = 0; i < steps; ++i)
    rows[i] = largest_separated_sum(std::span(sizes).subspan(i * steps, steps), participation);
  return rounded_root(largest_separated_sum(rows, participation), false);
}

Sensitivity toeplitz_sensitivity(std::span<const double> coefficients, std::size_t steps, const Participation& participation) {
  check_pattern(steps, participation, kMaxPatternSteps);
  std::vector<double> c(coefficients.begin(),
                        coefficients.begin() + static_cast<std::ptrdiff_t>(std::min(coefficients.size(), steps)));
  for (const double value : c)
    if (!std::isfinite(value)) throw usage_error("a coefficient is " + number_text(value) + "; coefficients must be finite");
  while (!c.empty() && c.back() == 0) c.pop_back();
  if (c.empty()) throw usage_error("all coefficients are 0; the first must not be");
  const std::size_t separation = participation.separation;
  const std::size_t most = most_participations(steps, participation);
  double square = 0;
  if (separation >= c.size()) {
    // Earlier columns lose fewer entries at the end, so the earliest pattern has the largest norm.
    std::vector<double> sums(c.size() + 1, 0.0);
    for (std::size_t i = 0; i < c.size(); ++i) sums[i + 1] = sums[i] + c[i] * c[i];
    for (std::size_t k = 0; k < most; ++k) square += sums[std::min(c.size(), steps - k * separation)];
    return rounded_root(square, true);
  }
  if (c.back() >= 0 && std::ranges::is_sorted(c, std::greater<>())) {
    std::vector<double> sum(steps, 0.0);  // sum of the pattern's columns
    for (std::size_t row = 0; row < steps; ++row) {
      const std::size_t last = std::min(row / separation, most - 1);
      for (std::size_t k = last + 1; k-- > 0;) {
        const std::size_t lag = row - k * separation;
        if (lag >= c.size()) break;
        sum[row] += c[lag];
      }
      square += sum[row] * sum[row];
    }
    return rounded_root(square, true);
  }
  if (steps > kMaxMatrix)
    throw usage_error("coefficients rise or are negative and reach further than the separation, " + std::to_string(separation) +
                      "; valid: at most " + std::to_string(kMaxMatrix) + " steps");
  std::vector<double> matrix(steps * steps, 0.0);
  for (std::size_t row = 0; row < steps; ++row)
    for (std::size_t lag = 0; lag <= std::min(row, c.size() - 1); ++lag) matrix[row * steps + row - lag] = c[lag];
  return matrix_sensitivity(matrix, steps, participation);
}

}  // namespace fedstride

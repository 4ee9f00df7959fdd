#include "secagg/grid.hpp"

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/exact_sum.hpp"
#include "core/text.hpp"

namespace fedstride::secagg {

Grid Grid::read(std::string_view text) {
  if (text.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return usage_error("secure-grid is '" + one_line(std::string(text)) + "'; " + why +
                       "; it must be RANGE,STEP,BITS, such as 1,2^-20,32");
  };
  const auto parts = split(text, ',');
  if (parts.size() != 3) throw refuse("it has " + counted(parts.size(), "part"));
  Grid grid;
  if (!parse_number(trimmed(parts[0]), grid.range) || !(grid.range > 0 && grid.range <= ExactSum::kMaxMagnitude))
    throw refuse("the range must be above 0 and at most " + number_text(ExactSum::kMaxMagnitude));
  std::string_view step = trimmed(parts[1]);
  int exponent = 0;
  if (step.starts_with("2^")) {
    if (!parse_number(step.substr(2), exponent)) throw refuse("the step is not a number");
    grid.step = std::ldexp(1.0, exponent);
  } else if (!parse_number(step, grid.step)) {
    throw refuse("the step is not a number");
  }
  if (!(grid.step >= 0x1p-40 && grid.step <= grid.range) || std::frexp(grid.step, &exponent) != 0.5)
    throw refuse("the step must be a power of two from 2^-40 to the range");
  if (!parse_number(trimmed(parts[2]), grid.bits) || (grid.bits != 32 && grid.bits != 64))
    throw refuse("the bits must be 32 or 64");
  return grid;
}

unsigned Grid::shift() const { return static_cast<unsigned>(40 + std::ilogb(step)); }

void Grid::check(std::uint64_t total_weight) const {
  const double largest = (is_exact() ? 0x1p22 / step : std::floor(range / step) + 1) * static_cast<double>(total_weight);
  const int needed = std::ilogb(largest) + 2;  // one bit for the sign
  if (needed > static_cast<int>(bits))
    throw usage_error("secure-grid has " + std::to_string(bits) + " bits; with a range of " + number_text(range) +
                      ", steps of 2^" + std::to_string(std::ilogb(step)) + " and weights that add up to " +
                      std::to_string(total_weight) + ", the sum needs " + std::to_string(needed) + " bits");
}

bool Grid::admits(std::span<const float> values) const {
  if (is_exact()) return true;
  bool good = true;
  for (const float value : values) good &= std::fabs(static_cast<double>(value)) <= range;
  return good;
}

void Grid::round(std::span<const float> values, std::uint64_t weight, RandomStream random, std::span<__int128> out) const {
  const auto factor = static_cast<__int128>(weight);
  if (is_exact()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i] = factor * static_cast<std::int64_t>(std::nearbyint(static_cast<double>(values[i]) * ExactSum::kScale));
    return;
  }
  const double inverse = 1 / step;
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = factor * static_cast<std::int64_t>(std::floor(static_cast<double>(values[i]) * inverse + random.uniform()));
}

}  // namespace fedstride::secagg

#include "dp/correlations/blt.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"

namespace fedstride {

BufferedToeplitz buffered_of(const Correlation& correlation) {
  const auto middle = correlation.coefficients.begin() + static_cast<std::ptrdiff_t>(correlation.coefficients.size() / 2);
  return {.scale = {correlation.coefficients.begin(), middle}, .decay = {middle, correlation.coefficients.end()}};
}

void BufferedNoise::plan(Correlation& planned) const {
  const BufferedToeplitz best =
      optimal_buffered_toeplitz(static_cast<std::size_t>(buffers), static_cast<std::size_t>(planned.horizon),
                                {.separation = static_cast<std::size_t>(planned.separation)});
  planned.coefficients = best.scale;
  planned.coefficients.insert(planned.coefficients.end(), best.decay.begin(), best.decay.end());
}

std::string BufferedNoise::objection(const Correlation& correlation) const {
  if (correlation.coefficients.size() % 2 != 0) return "has an odd number of coefficients; it must have as many scales as decays";
  try {
    check_buffered(buffered_of(correlation));
  } catch (const Error& error) {
    return std::string("is invalid: ") + error.what();
  }
  return {};
}

std::vector<std::pair<std::string_view, std::uint64_t>> BufferedNoise::stated(const Correlation& correlation) const {
  return {{"noise-buffers", kept_vectors(correlation)}};
}

// Coefficients never increase, so the worst pattern is the earliest rounds exactly `separation` apart. The stream computes
// the sum of C's columns for these rounds.
double BufferedNoise::sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const {
  const std::uint64_t after = participations(correlation, rounds, most) * correlation.separation;
  BufferedStream pattern(buffered_of(correlation));
  double square = 0;
  for (std::uint64_t t = 0; t < rounds; ++t) {
    const double value = pattern.multiply(t < after && t % correlation.separation == 0 ? 1 : 0);
    square += value * value;
  }
  return std::sqrt(square) * kSensitivityRoundedUp;
}

namespace {

/// Adds `sign` times the scaled buffers to the values. The buffers then take in the values before (sign 1) or after it (-1).
void pass_buffers(const Correlation& correlation, double sign, const NoiseRow& row) {
  auto& kept = row.kept;
  const double* const scale = correlation.coefficients.data();
  const double* const decay = scale + kept.size();
  constexpr std::size_t kStretch = 128;  // a stretch's buffers stay in L1 from one loop to the next
  std::array<double, kStretch> taken;
  for (std::size_t begin = 0; begin < row.values.size(); begin += kStretch) {
    const auto part = row.values.subspan(begin, std::min(kStretch, row.values.size() - begin));
    std::ranges::copy(part, taken.begin());
    for (std::size_t buffer = 0; buffer < kept.size(); ++buffer) {
      const double* const values = kept[buffer].data() + row.first + begin;
      for (std::size_t i = 0; i < part.size(); ++i) part[i] += sign * scale[buffer] * values[i];
    }
    if (sign < 0) std::ranges::copy(part, taken.begin());
    for (std::size_t buffer = 0; buffer < kept.size(); ++buffer) {
      double* const values = kept[buffer].data() + row.first + begin;
      for (std::size_t i = 0; i < part.size(); ++i) values[i] = decay[buffer] * values[i] + taken[i];
    }
  }
}

}  // namespace

void BufferedNoise::encode(const Correlation& correlation, const NoiseRow& row,
                           function_ref<void(std::size_t, std::span<const double>)> /*put*/) const {
  pass_buffers(correlation, 1, row);
}

void BufferedNoise::correlate(const Correlation& correlation, const NoiseRow& row,
                              function_ref<std::span<const double>(std::size_t)> /*draw*/) const {
  pass_buffers(correlation, -1, row);
}

}  // namespace fedstride

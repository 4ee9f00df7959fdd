#include "dp/correlations/banded.hpp"

#include <algorithm>
#include <cmath>

#include "dp/correlations/participation.hpp"
#include "dp/correlations/toeplitz.hpp"

namespace fedstride {

void BandedNoise::plan(Correlation& planned) const {
  planned.coefficients = optimal_banded_toeplitz(static_cast<std::size_t>(std::min(planned.separation, planned.horizon)),
                                                 static_cast<std::size_t>(planned.horizon));
}

std::string BandedNoise::objection(const Correlation& correlation) const {
  constexpr std::size_t kMaxBands = 4096;
  const auto& c = correlation.coefficients;
  const std::size_t most = std::min<std::uint64_t>(correlation.separation, kMaxBands);
  if (!c.empty() && c.size() <= most && c[0] == 1 && std::ranges::all_of(c, [](double value) { return std::isfinite(value); }))
    return {};
  return "has " + std::to_string(c.size()) + " coefficients; it must have 1 to " + std::to_string(most) +
         ", all finite, and the first must be 1";
}

double BandedNoise::sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const {
  return toeplitz_sensitivity(correlation.coefficients, static_cast<std::size_t>(rounds),
                              {static_cast<std::size_t>(correlation.separation), static_cast<std::size_t>(most)})
      .value;
}

double BandedNoise::norm_in_groups(const Correlation& correlation) const {
  double square = 0;
  for (const double c : correlation.coefficients) square += c * c;
  return correlation.coefficients.empty() ? 1 : std::sqrt(square) * kSensitivityRoundedUp;
}

namespace {

/// Adds `sign` times the weighted vectors kept from earlier rounds.
void add_earlier(const std::vector<double>& c, double sign, const NoiseRow& row) {
  const auto& kept = row.kept;
  for (std::size_t j = 1; j <= std::min<std::uint64_t>(row.t, kept.size()); ++j) {
    const double* const earlier = kept[(row.t - j) % kept.size()].data() + row.first;
    const double weight = sign * c[j];
    for (std::size_t i = 0; i < row.values.size(); ++i) row.values[i] += weight * earlier[i];
  }
}

/// Keeps the values in place of the oldest.
void keep(std::span<const double> values, const NoiseRow& row) {
  auto& kept = row.kept;
  if (!kept.empty()) std::ranges::copy(values, kept[row.t % kept.size()].begin() + static_cast<std::ptrdiff_t>(row.first));
}

}  // namespace

void BandedNoise::encode(const Correlation& correlation, const NoiseRow& row,
                         function_ref<void(std::size_t, std::span<const double>)> /*put*/) const {
  const std::vector<double> own(row.values.begin(), row.values.end());
  add_earlier(correlation.coefficients, 1, row);
  keep(own, row);
}

void BandedNoise::correlate(const Correlation& correlation, const NoiseRow& row,
                            function_ref<std::span<const double>(std::size_t)> /*draw*/) const {
  add_earlier(correlation.coefficients, -1, row);
  keep(row.values, row);
}

}  // namespace fedstride

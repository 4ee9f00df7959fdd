#include "run/private_moments.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/noise/noisy_mean.hpp"

namespace fedstride {
namespace {

/// Adds the means over a row of x and of 2 x^2 - 1, of each channel, to `sums`: numbers in [-1, 1].
void add_row(const Dataset& data, Row row, std::vector<double>& sums) {
  const auto channels = static_cast<std::size_t>(data.shape.channels);
  const std::size_t size = data.shape.size();
  const std::size_t plane = size / channels;
  const std::size_t at = data.place(row) * size;
  const double share = 1 / static_cast<double>(plane);
  for (std::size_t i = 0; i < size; ++i) {
    // Pictures lie plane by plane, numbers channels innermost.
    const std::size_t channel = data.is_pictures() ? i / plane : i % channels;
    const double value = data.is_pictures() ? data.pixels[at + i] / 255.0 : static_cast<double>(data.features[at + i]);
    const double x = std::clamp((value - data.mean[channel]) / data.deviation[channel], -1.0, 1.0);
    sums[channel] += share * x;
    sums[channels + channel] += share * (2 * x * x - 1);
  }
}

}  // namespace

void check_private_moments(const Setup& setup) {
  if (setup.data.normalises_privately && !(setup.configuration.normalise_noise > 0))
    throw usage_error("normalise-noise is " + number_text(setup.configuration.normalise_noise) +
                      "; with normalise private it must be a number above 0, the noise multiplier of that release");
}

void release_moments(Setup& setup, const RandomSource& source) {
  if (!setup.data.normalises_privately) return;
  Dataset& train = setup.data.train;
  const auto channels = static_cast<std::size_t>(train.shape.channels);
  NoisyMean mean(2 * channels);
  const bool by_client = setup.privacy.client.has_value();
  std::vector<double> sums;
  for (const std::span<const Row> rows : setup.rows) {
    sums.assign(2 * channels, 0);
    for (const Row row : rows) {
      add_row(train, row, sums);
      if (by_client) continue;
      mean.add(sums);
      sums.assign(2 * channels, 0);
    }
    if (!by_client || rows.empty()) continue;
    for (double& sum : sums) sum /= static_cast<double>(rows.size());
    mean.add(sums);
  }
  const std::uint64_t records = by_client ? setup.rows.size() : setup.rows.row_count();
  const std::vector<double> released =
      mean.release(setup.configuration.normalise_noise, records, source, {.purpose = Purpose::moment_noise});
  constexpr double kLeastVariance = 1e-4;  // of inputs in [-1, 1]: noise may leave less, or less than nothing
  for (std::size_t c = 0; c < channels; ++c) {
    const double first = std::clamp(released[c], -1.0, 1.0);
    const double variance = (released[channels + c] + 1) / 2 - first * first;
    const double half = train.deviation[c];
    train.mean[c] = static_cast<float>(train.mean[c] + half * first);
    train.deviation[c] = static_cast<float>(half * std::sqrt(std::clamp(variance, kLeastVariance, 1.0)));
  }
  setup.data.test.mean = train.mean;
  setup.data.test.deviation = train.deviation;
}

namespace {

constexpr const char* kMean = "fedstride.mean";
constexpr const char* kDeviation = "fedstride.deviation";

std::string numbers_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) text += (text.empty() ? "" : ",") + number_text(number);
  return text;
}

}  // namespace

void add_moments(const Setup& setup, std::map<std::string, std::string>& metadata) {
  if (!setup.data.normalises_privately) return;
  metadata.emplace(kMean, numbers_text(setup.data.train.mean));
  metadata.emplace(kDeviation, numbers_text(setup.data.train.deviation));
}

void take_moments(const std::map<std::string, std::string>& metadata, ReadSettings& settings) {
  const auto mean = metadata.find(kMean);
  const auto deviation = metadata.find(kDeviation);
  if (mean == metadata.end() || deviation == metadata.end()) return;
  settings.mean = mean->second;
  settings.deviation = deviation->second;
  settings.normalise = Normalise::given;
}

}  // namespace fedstride

#include "sim/prepare/private_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "dp/noise/pca.hpp"

namespace fedstride {
namespace {

/// Adds a row's means of x and 2 x^2 - 1 per channel, both in [-1, 1], to `sums`; with bounds, its means of unscaled x and x^2.
void add_row(const Dataset& data, Row row, bool is_bounded, std::vector<double>& sums) {
  const auto channels = static_cast<std::size_t>(data.shape.channels);
  const std::size_t size = data.shape.size();
  const std::size_t plane = size / channels;
  const std::size_t at = data.place(row) * size;
  const double share = 1 / static_cast<double>(plane);
  for (std::size_t i = 0; i < size; ++i) {
    // Images are stored plane by plane; in numeric inputs, channels are innermost.
    const std::size_t channel = data.is_pictures() ? i / plane : i % channels;
    const double value = data.is_pictures() ? data.pixels[at + i] / 255.0 : static_cast<double>(data.features[at + i]);
    const double x = is_bounded ? value : std::clamp((value - data.mean[channel]) / data.deviation[channel], -1.0, 1.0);
    sums[channel] += share * x;
    sums[channels + channel] += share * (is_bounded ? x * x : 2 * x * x - 1);
  }
}

/// Divides a record's vector by its bound and clips its norm to 1.
void bound_to_one(std::span<double> values, double bound) {
  double squares = 0;
  for (double& value : values) {
    value = std::isfinite(value) ? value / bound : 0;
    squares += value * value;
  }
  if (squares > 1)
    for (double& value : values) value /= std::sqrt(squares);
}

/// Sets each channel's mean and deviation from noisy means of x and x^2, in units of their bounds. Adds the standard deviation of
/// the noise to the variance, so a channel with less signal than noise is not magnified.
void take_bounded(Dataset& train, std::span<const double> released, const MomentBounds& bounds, double noise) {
  const std::size_t channels = released.size() / 2;
  for (std::size_t c = 0; c < channels; ++c) {
    const double first = bounds.mean * released[c];
    const double variance = bounds.square * released[channels + c] - first * first;
    train.mean[c] = static_cast<float>(first);
    train.deviation[c] = static_cast<float>(std::sqrt(std::max(variance, 0.0) + bounds.square * noise));
  }
}

const ExampleSettings* components_of(const DataSetup& setup) {
  const auto* settings = example_level(setup.configuration.privacy);
  return settings != nullptr && settings->components > 0 ? settings : nullptr;
}

// Calls visit with each row in the model's form, in order.
void for_each_row(const Dataset& data, std::span<const Row> rows, RowSink visit) {
  constexpr std::size_t kAtOnce = 256;
  const std::size_t size = data.shape.size();
  std::vector<float> values(kAtOnce * size);
  for (std::size_t first = 0; first < rows.size(); first += kAtOnce) {
    const auto some = rows.subspan(first, std::min(kAtOnce, rows.size() - first));
    fill_batch(data, some, Augmentation::none, {}, std::span(values).first(some.size() * size));
    for (std::size_t i = 0; i < some.size(); ++i) visit(std::span<const float>(values).subspan(i * size, size));
  }
}

void project(Dataset& data, const Eigen::MatrixXf& directions) {
  const auto kept = static_cast<std::size_t>(directions.cols());
  std::vector<Row> rows(data.size());
  std::iota(rows.begin(), rows.end(), Row{0});
  std::vector<float> features;
  features.reserve(rows.size() * kept);
  for_each_row(data, rows, [&](std::span<const float> row) {
    const Eigen::Map<const Eigen::VectorXf> x(row.data(), static_cast<Eigen::Index>(row.size()));
    const float norm = x.norm();
    const float scale = norm > 0 ? std::sqrt(static_cast<float>(kept)) / norm : 0.0F;
    const Eigen::VectorXf projected = scale * (directions.transpose() * x);
    features.insert(features.end(), projected.begin(), projected.end());
  });
  data.features = std::move(features);
  data.pixels = {};
  data.shape = {1, 1, static_cast<int>(kept)};
  data.mean.assign(kept, 0);
  data.deviation.assign(kept, 1);
}

}  // namespace

void release_moments(DataSetup& setup, const RandomSource& source) {
  if (!setup.data.normalizes_privately) return;
  Dataset& train = setup.data.train;
  const auto channels = static_cast<std::size_t>(train.shape.channels);
  const std::optional<MomentBounds> bounds = named_moment_bounds(setup.configuration);
  NoisyMean mean = bounds ? NoisyMean(2 * channels, std::numbers::sqrt2) : NoisyMean(2 * channels);
  const auto add = [&](std::vector<double>& moments) {
    if (bounds) {
      bound_to_one(std::span(moments).first(channels), bounds->mean);
      bound_to_one(std::span(moments).last(channels), bounds->square);
    }
    mean.add(moments);
  };
  const bool by_client = client_level(setup.configuration.privacy) != nullptr;
  std::vector<double> sums;
  for (const std::span<const Row> rows : setup.clients.rows) {
    sums.assign(2 * channels, 0);
    for (const Row row : rows) {
      add_row(train, row, bounds.has_value(), sums);
      if (by_client) continue;
      add(sums);
      sums.assign(2 * channels, 0);
    }
    if (!by_client || rows.empty()) continue;
    for (double& sum : sums) sum /= static_cast<double>(rows.size());
    add(sums);
  }
  const std::uint64_t records = by_client ? setup.clients.rows.size() : setup.clients.rows.row_count();
  const std::vector<double> released =
      mean.release(setup.configuration.normalize_noise, records, source, {.purpose = Purpose::moment_noise});
  constexpr double kLeastVariance = 1e-4;  // for inputs in [-1, 1]; a noisy variance may be smaller, or negative
  if (bounds)
    take_bounded(train, released, *bounds,
                 std::numbers::sqrt2 * setup.configuration.normalize_noise / static_cast<double>(records));
  for (std::size_t c = 0; c < channels && !bounds; ++c) {
    const double first = std::clamp(released[c], -1.0, 1.0);
    const double variance = (released[channels + c] + 1) / 2 - first * first;
    const double half = train.deviation[c];
    train.mean[c] = static_cast<float>(train.mean[c] + half * first);
    train.deviation[c] = static_cast<float>(half * std::sqrt(std::clamp(variance, kLeastVariance, 1.0)));
  }
  setup.data.normalized_by = "of an accounted release";
  setup.data.test.mean = train.mean;
  setup.data.test.deviation = train.deviation;
}

ExampleForm input_form(const DataSetup& setup) {
  const auto* settings = components_of(setup);
  ExampleForm form = setup.data.train.form();
  if (settings != nullptr) form.shape = {1, 1, settings->components};
  return form;
}

void check_components(const DataSetup& setup) {
  const auto* settings = components_of(setup);
  if (settings == nullptr) return;
  const Configuration& configuration = setup.configuration;
  if (setup.data.train.vocabulary > 0)
    throw usage_error("private-components needs numeric inputs; data set '" + configuration.dataset + "' has tokens");
  const auto inputs = setup.data.train.shape.size();
  if (static_cast<std::size_t>(settings->components) > inputs)
    throw usage_error("private-components is " + std::to_string(settings->components) + "; data set '" + configuration.dataset +
                      "' has " + std::to_string(inputs) + " inputs, and at most that many are valid");
  if (inputs > 4096)
    throw usage_error("private-components needs a matrix of inputs x inputs; data set '" + configuration.dataset + "' has " +
                      std::to_string(inputs) + " inputs; at most 4096 are valid");
}

void project_on_components(DataSetup& setup, const RandomSource& source) {
  const auto* settings = components_of(setup);
  if (settings == nullptr) return;
  const Dataset& train = setup.data.train;
  const auto rows = [&](RowSink visit) { for_each_row(train, setup.clients.rows[0], visit); };
  const Components found = private_components(rows, static_cast<int>(train.shape.size()), settings->components,
                                              settings->components_noise, source, {Purpose::component_noise});
  project(setup.data.train, found.directions);
  project(setup.data.test, found.directions);
}

}  // namespace fedstride

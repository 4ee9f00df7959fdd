#include "run/private_components.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/skew/no_skew.hpp"
#include "dp/noise/pca.hpp"
#include "run/neighbours.hpp"

namespace fedstride {
namespace {

const ExampleSettings* settings_of(const Setup& setup) {
  const auto* settings = example_level(setup.configuration.privacy);
  return settings != nullptr && settings->components > 0 ? settings : nullptr;
}

// Calls visit(row as the model would see it) for each of the rows, in order.
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

ExampleForm input_form(const Setup& setup) {
  const auto* settings = settings_of(setup);
  ExampleForm form = setup.data.train.form();
  if (settings != nullptr) form.shape = {1, 1, settings->components};
  return form;
}

void prepare_components(Setup& setup) {
  const auto* settings = settings_of(setup);
  if (settings == nullptr) return;
  const Configuration& configuration = setup.configuration;
  if (configuration.clients != 1)
    throw usage_error("clients is " + std::to_string(configuration.clients) +
                      "; private components are those of one client's data, only 1 is valid with private-components");
  if (configuration.augment != Augmentation::none)
    throw usage_error("augment is '" + std::string(choice_name(configuration.augment)) +
                      "'; only none is valid with private-components");
  if (configuration.feature_skew.as<NoSkew>() == nullptr)
    throw usage_error("feature-skew is '" + std::string(configuration.feature_skew.name()) +
                      "'; only none is valid with private-components");
  if (settings->components_noise == 0)
    throw usage_error("components-noise is 0; with private-components it must be a number above 0");
  if (setup.data.train.vocabulary > 0)
    throw usage_error("private-components are those of numbers; data set '" + configuration.dataset + "' has tokens");
  const auto inputs = setup.data.train.shape.size();
  if (static_cast<std::size_t>(settings->components) > inputs)
    throw usage_error("private-components is " + std::to_string(settings->components) + "; data set '" + configuration.dataset +
                      "' has " + std::to_string(inputs) + " inputs, at most that many are valid");
  if (inputs > 4096)
    throw usage_error("private-components needs a matrix of inputs x inputs; data set '" + configuration.dataset + "' has " +
                      std::to_string(inputs) + " inputs, at most 4096 are valid");
  setup.privacy.components = {components_release(settings->components_noise, example_neighbours(configuration))};
}

void project_on_components(Setup& setup, const RandomSource& source) {
  const auto* settings = settings_of(setup);
  if (settings == nullptr) return;
  const Dataset& train = setup.data.train;
  const auto rows = [&](RowSink visit) { for_each_row(train, setup.rows[0], visit); };
  const Components found = private_components(rows, static_cast<int>(train.shape.size()), settings->components,
                                              settings->components_noise, source, {Purpose::component_noise});
  project(setup.data.train, found.directions);
  project(setup.data.test, found.directions);
}

}  // namespace fedstride

#include "data/built_in.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kFeatures = 60;
constexpr std::size_t kLiClasses = 10;
constexpr std::uint32_t kLiRound = 1;  // `round` in the addresses of this set's draws; the built-in images use 0

/// One client's labeling model, input means and number of examples.
struct Device {
  std::array<std::array<double, kFeatures>, kLiClasses> weights;
  std::array<double, kLiClasses> biases;
  std::array<double, kFeatures> means;
  std::size_t examples = 0;
};

Device draw_device(const SyntheticLi& parameters, std::uint32_t client) {
  RandomStream random(parameters.seed, {.purpose = Purpose::synthetic_data, .round = kLiRound, .client = client});
  Device device;
  const double model_mean = std::sqrt(parameters.alpha) * random.normal();
  const double input_mean = std::sqrt(parameters.beta) * random.normal();
  device.examples = 50 + static_cast<std::size_t>(portable::exp(4 + 2 * random.normal()));
  for (auto& row : device.weights)
    for (double& weight : row) weight = model_mean + random.normal();
  for (double& bias : device.biases) bias = model_mean + random.normal();
  for (double& mean : device.means) mean = input_mean + random.normal();
  return device;
}

Label label_of(const Device& device, const float* x) {
  Label best = 0;
  double highest = 0;
  for (std::size_t label = 0; label < kLiClasses; ++label) {
    double score = device.biases[label];
    for (std::size_t j = 0; j < kFeatures; ++j) score += device.weights[label][j] * static_cast<double>(x[j]);
    if (label > 0 && score <= highest) continue;
    highest = score;
    best = static_cast<Label>(label);
  }
  return best;
}

}  // namespace

DataPair make_synthetic_li(const SyntheticLi& parameters) {
  std::array<double, kFeatures> deviations;
  for (std::size_t j = 0; j < kFeatures; ++j) deviations[j] = portable::pow(static_cast<double>(j + 1), -0.6);
  DataPair pair;
  for (Dataset* part : {&pair.train, &pair.test}) {
    part->shape = {1, 1, static_cast<int>(kFeatures)};
    part->classes = static_cast<int>(kLiClasses);
    for (int client = 0; client < parameters.clients; ++client) part->client_names.push_back(std::to_string(client));
  }
  pair.train.mean.assign(kFeatures, 0);
  pair.train.deviation.assign(kFeatures, 1);
  for (std::uint32_t client = 0; client < static_cast<std::uint32_t>(parameters.clients); ++client) {
    const Device device = draw_device(parameters, client);
    const std::size_t training = device.examples * 9 / 10;
    for (std::size_t i = 0; i < device.examples; ++i) {
      RandomStream random(parameters.seed, {.purpose = Purpose::synthetic_data,
                                            .round = kLiRound,
                                            .client = client,
                                            .step = 1,
                                            .row = static_cast<std::uint32_t>(i)});
      Dataset& part = i < training ? pair.train : pair.test;
      std::array<float, kFeatures> x;
      for (std::size_t j = 0; j < kFeatures; ++j) x[j] = static_cast<float>(device.means[j] + deviations[j] * random.normal());
      part.features.append(x.begin(), x.end());
      part.labels.push_back(label_of(device, x.data()));
      part.clients.push_back(client);
    }
  }
  return pair;
}

DataPair make_synthetic_li(std::string_view arguments) {
  SyntheticLi parameters;
  const auto wrong = [&] {
    return usage_error("dataset is 'synthetic-li:" + std::string(arguments.substr(0, 60)) +
                       "'; valid: synthetic-li:ALPHA,BETA,CLIENTS,SEED with alpha and beta from 0 to 1e6, clients a whole number "
                       "from 1 to 10000 and seed a whole number from 0; trailing values default to 1,1,30,0");
  };
  if (arguments.empty()) return make_synthetic_li(parameters);
  const auto pieces = split(arguments, ',');
  const auto read = [&](std::size_t index, auto& number) {
    if (index < pieces.size() && !parse_number(trimmed(pieces[index]), number)) throw wrong();
  };
  constexpr double kMaxVariance = 1e6;
  constexpr int kMaxDevices = 10'000;
  read(0, parameters.alpha);
  read(1, parameters.beta);
  read(2, parameters.clients);
  read(3, parameters.seed);
  const auto is_variance = [](double value) { return value >= 0 && value <= kMaxVariance; };
  if (pieces.size() > 4 || !is_variance(parameters.alpha) || !is_variance(parameters.beta) || parameters.clients < 1 ||
      parameters.clients > kMaxDevices)
    throw wrong();
  return make_synthetic_li(parameters);
}

}  // namespace fedstride

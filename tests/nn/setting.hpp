#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "nn/reference.hpp"

namespace fedstride::test {

/// A model with random weights, scales and shifts among them, and a random batch.
struct Setting {
  Setting(std::string_view line, Shape input, int classes, int examples, std::uint64_t seed = 1)
      : model(Model::parse(line, input, classes)), weights(model.initial(Initialisation::fan_in, seed)) {
    RandomStream moves(seed, {.purpose = Purpose::test, .row = 1});
    for (const Parameter& parameter : model.parameters())
      if (parameter.role == ParameterRole::scale || parameter.role == ParameterRole::shift)
        for (float& value : view(weights).subspan(parameter.offset, parameter.size)) value += moves.uniform_float() - 0.5F;
    RandomStream random(seed, {.purpose = Purpose::test});
    inputs.resize(static_cast<std::size_t>(examples) * input.size());
    for (float& value : inputs) value = static_cast<float>(random.normal());
    for (int r = 0; r < examples; ++r) {
      labels.push_back(static_cast<Label>(random.below(static_cast<std::uint64_t>(classes))));
      rows.push_back(static_cast<Row>(1000 + 7 * r));
    }
  }

  Batch batch() const { return {labels, rows, {.seed = 5, .round = 3, .client = 2, .step = 9}}; }

  ReferenceResult<double> expected(const std::vector<bool>& frozen = {}, bool training = true) const {
    const std::vector<double> exact_weights(weights.begin(), weights.end());
    const std::vector<double> exact_inputs(inputs.begin(), inputs.end());
    return reference_gradient<double>(model, exact_weights, exact_inputs, batch(), frozen, training);
  }

  Model model;
  Vector weights;
  std::vector<float> inputs;
  std::vector<Label> labels;
  std::vector<Row> rows;
};

/// Relative difference of one tensor, in the 2-norm.
inline double difference(const Parameter& parameter, const std::vector<float>& actual, const std::vector<double>& expected) {
  double error = 0, size = 0;
  for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return size > 0 ? std::sqrt(error / size) : std::sqrt(error);
}

}  // namespace fedstride::test

#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "tests/kits/reference.hpp"

namespace fedstride::test {

/// Random inputs and answers of one form.
template <class Scalar>
struct RandomExamples {
  RandomExamples(const ExampleForm& form, std::size_t examples, RandomStream& random) {
    inputs.resize(examples * form.shape.size());
    const auto below = [&](int limit) { return random.below(static_cast<std::uint64_t>(limit)); };
    for (Scalar& value : inputs)
      value = form.vocabulary > 0 ? static_cast<Scalar>(below(form.vocabulary)) : static_cast<Scalar>(random.normal());
    const std::size_t answers = examples * form.answers();
    for (std::size_t i = 0; i < answers; ++i) switch (form.targets) {
        case Targets::positions:
          labels.push_back(i % 4 == 1 ? kNoLabel : static_cast<Label>(below(form.outputs)));
          break;
        case Targets::classes:
          labels.push_back(static_cast<Label>(below(form.outputs)));
          break;
        case Targets::values:
          values.push_back(static_cast<float>(random.normal()));
          break;
        case Targets::flags:
          values.push_back(static_cast<float>(below(2)));
          break;
      }
  }

  std::vector<Scalar> inputs;
  std::vector<Label> labels;
  std::vector<float> values;
};

/// A model with random weights, scales and shifts among them, and a random batch.
struct Setting {
  Setting(std::string_view line, Shape input, int classes, int examples, std::uint64_t seed = 1)
      : Setting(line, ExampleForm{input, classes}, examples, seed) {}
  Setting(std::string_view line, const ExampleForm& form, int examples, std::uint64_t seed = 1)
      : model(Model::parse(line, form)), weights(model.initial(Initialization::fan_in, seed)) {
    RandomStream moves(seed, {.purpose = Purpose::test, .row = 1});
    for (const Parameter& parameter : model.parameters())
      if (parameter.role == ParameterRole::scale || parameter.role == ParameterRole::shift)
        for (float& value : view(weights).subspan(parameter.offset, parameter.size)) value += moves.uniform_float() - 0.5F;
    RandomStream random(seed, {.purpose = Purpose::test});
    RandomExamples<float> made(form, static_cast<std::size_t>(examples), random);
    inputs = std::move(made.inputs);
    labels = std::move(made.labels);
    values = std::move(made.values);
    for (int r = 0; r < examples; ++r) rows.push_back(static_cast<Row>(1000 + 7 * r));
  }

  Batch batch() const { return {labels, rows, {.seed = 5, .round = 3, .client = 2, .step = 9}, values}; }
  /// The batch of one example alone.
  Batch batch_of(std::size_t row) const {
    const std::size_t each = model.form().answers();
    Batch one = batch();
    one.rows = one.rows.subspan(row, 1);
    if (!labels.empty()) one.labels = one.labels.subspan(row * each, each);
    if (!values.empty()) one.values = one.values.subspan(row * each, each);
    return one;
  }

  ReferenceResult<double> expected(const std::vector<bool>& frozen = {}, bool training = true) const {
    const std::vector<double> exact_weights(weights.begin(), weights.end());
    const std::vector<double> exact_inputs(inputs.begin(), inputs.end());
    return reference_gradient<double>(model, exact_weights, exact_inputs, batch(), frozen, training);
  }

  Model model;
  Vector weights;
  std::vector<float> inputs;
  std::vector<Label> labels;
  std::vector<float> values;
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

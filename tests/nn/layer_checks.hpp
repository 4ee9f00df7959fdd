#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "core/floating_point.hpp"
#include "core/random.hpp"
#include "nn/network.hpp"
#include "tests/nn/setting.hpp"

namespace fedstride::test {

// The checks of every layer's test: the slow twin against finite differences, the network against the slow twin, norms and
// weighted sums against gradients of single examples.

inline std::vector<double> random_values(std::size_t count, std::uint32_t which, double scale) {
  RandomStream random(11, {.purpose = Purpose::test, .row = which});
  std::vector<double> values(count);
  for (double& value : values) value = scale * (2 * random.uniform() - 1);
  return values;
}

struct Sample {
  Model model;
  std::vector<double> weights;
  std::vector<double> inputs;
  std::vector<Label> labels{1, 0, 2};
  std::vector<float> values;
  std::vector<Row> rows{5, 0, 7};

  Sample(std::string_view line, Shape input) : model(Model::parse(line, input, 3)) {
    weights = random_values(model.size(), 1, 0.6);
    inputs = random_values(labels.size() * input.size(), 2, 1.5);
  }
  template <std::same_as<ExampleForm> Form>
  Sample(std::string_view line, const Form& form) : model(Model::parse(line, form)) {
    weights = random_values(model.size(), 1, 0.6);
    RandomStream random(2, {.purpose = Purpose::test});
    RandomExamples<double> made(form, rows.size(), random);
    inputs = std::move(made.inputs);
    labels = std::move(made.labels);
    values = std::move(made.values);
  }
  Batch batch() const { return {labels, rows, {.seed = 3, .round = 1, .client = 2, .step = 4}, values}; }
  ReferenceResult<double> at(const std::vector<double>& point) const {
    return reference_gradient<double>(model, point, inputs, batch());
  }
};

/// Checks the slow twin's gradient at random places of every tensor against finite differences, all in double.
/// A template, so that a shape in braces is a shape.
template <class Form>
void check_against_finite_differences(std::string_view line, const Form& form) {
  CAPTURE(std::string(line));
  int tried = 0, checked = 0;
  const Sample sample(line, form);
  const auto exact = sample.at(sample.weights);
  const auto loss = [&](std::size_t i, double step) {
    auto moved = sample.weights;
    moved[i] += step;
    return sample.at(moved).loss_sum / static_cast<double>(sample.rows.size());
  };
  const auto slope = [&](std::size_t i, double step) { return (loss(i, step) - loss(i, -step)) / (2 * step); };
  double scale = 0;
  for (const double value : exact.gradient) scale = std::max(scale, std::abs(value));
  RandomStream random(5, {.purpose = Purpose::test});
  for (const Parameter& parameter : sample.model.parameters())
    for (int repeat = 0; repeat < 12; ++repeat) {
      const std::size_t i = parameter.offset + random.below(parameter.size);
      // Two step sizes that disagree say that a kink of relu or max lies between.
      const double wide = slope(i, 1e-4), narrow = slope(i, 3e-5);
      ++tried;
      if (std::abs(wide - narrow) > 1e-6 * scale) continue;
      ++checked;
      CAPTURE(parameter.name);
      CHECK(exact.gradient[i] == doctest::Approx(narrow).epsilon(1e-6).scale(scale));
    }
  CHECK(checked > tried * 9 / 10);
}

inline void check_against_finite_differences(std::string_view line, Shape input) {
  check_against_finite_differences<Shape>(line, input);
}

/// A gradient as the network hands it over.
struct NetworkGradient {
  BatchLoss loss;
  std::vector<float> gradient;
  std::vector<int> reported;  ///< how often each weight was
};

inline NetworkGradient network_gradient(Network& network, const Setting& setting, ForEachPiece for_each_piece = serially) {
  const FloatingPointMode mode;
  NetworkGradient outcome;
  outcome.gradient.assign(setting.model.size(), 0);
  outcome.reported.assign(setting.model.size(), 0);
  const auto inputs = network.inputs(static_cast<int>(setting.rows.size()));
  std::copy(setting.inputs.begin(), setting.inputs.end(), inputs.begin());
  outcome.loss = network.gradient(
      setting.weights.data(), setting.batch(),
      [&](std::size_t offset, std::span<const float> gradient) {
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          outcome.gradient[offset + i] = gradient[i];
          ++outcome.reported[offset + i];
        }
        return static_cast<double>(gradient.size());
      },
      for_each_piece);
  return outcome;
}

/// Checks the network's loss, hits and gradient against the slow twin's.
template <std::same_as<ExampleForm> Form>
void check_against_twin(std::string_view line, const Form& form, int rows) {
  CAPTURE(std::string(line));
  CAPTURE(rows);
  const Setting setting(line, form, rows);
  Network network(setting.model, rows);
  const auto expected = setting.expected();
  const auto outcome = network_gradient(network, setting);
  CHECK(outcome.loss.loss_sum == doctest::Approx(expected.loss_sum).epsilon(1e-5));
  CHECK(outcome.loss.correct == expected.correct);
  for (const auto& parameter : setting.model.parameters()) {
    CAPTURE(parameter.name);
    CHECK(difference(parameter, outcome.gradient, expected.gradient) < 2e-5);
  }
}

inline void check_against_twin(std::string_view line, Shape input, int rows, int classes = 5) {
  check_against_twin(line, ExampleForm{input, classes}, rows);
}

/// Gradient of one example of the batch as the network itself computes it, materialized.
inline std::vector<float> gradient_of(Network& network, const Setting& setting, std::size_t row) {
  const std::size_t size = setting.model.input().size();
  std::copy_n(setting.inputs.begin() + static_cast<std::ptrdiff_t>(row * size), size, network.inputs(1).begin());
  std::vector<float> gradient(setting.model.size());
  network.gradient(setting.weights.data(), setting.batch_of(row), [&](std::size_t offset, std::span<const float> part) {
    std::copy(part.begin(), part.end(), gradient.begin() + static_cast<std::ptrdiff_t>(offset));
    return 0.0;
  });
  return gradient;
}

/// The same by the slow twin.
inline std::vector<double> exact_gradient_of(const Setting& setting, std::size_t row, const std::vector<bool>& frozen) {
  const std::size_t size = setting.model.input().size();
  const std::vector<double> weights(setting.weights.begin(), setting.weights.end());
  const auto first = setting.inputs.begin() + static_cast<std::ptrdiff_t>(row * size);
  const std::vector<double> inputs(first, first + static_cast<std::ptrdiff_t>(size));
  return reference_gradient<double>(setting.model, weights, inputs, setting.batch_of(row), frozen).gradient;
}

template <class Vector>
double norm(const Vector& values) {
  double sum = 0;
  for (const auto value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

inline std::vector<double> norms_of(Network& network, const Setting& setting, ForEachPiece for_each_piece = serially) {
  std::copy(setting.inputs.begin(), setting.inputs.end(), network.inputs(static_cast<int>(setting.rows.size())).begin());
  std::vector<double> norms(setting.rows.size());
  network.per_example(setting.weights.data(), setting.batch(), norms, for_each_piece);
  return norms;
}

inline std::vector<float> weighted_sum(Network& network, const std::vector<float>& factors,
                                       ForEachPiece for_each_piece = serially) {
  std::vector<float> sum(network.model().size());
  const auto sink = [&](std::size_t offset, std::span<const double> part) {
    std::ranges::transform(part, sum.begin() + static_cast<std::ptrdiff_t>(offset),
                           [](double value) { return static_cast<float>(value); });
    return 0.0;
  };
  network.weighted_sum(factors, sink, for_each_piece);
  return sum;
}

/// Factors from 0 to 2, every fifth of them 0.
inline std::vector<float> some_factors(std::size_t count) {
  RandomStream random(8, {.purpose = Purpose::test});
  std::vector<float> factors(count);
  for (std::size_t r = 0; r < count; ++r) factors[r] = r % 5 == 3 ? 0.0F : static_cast<float>(2 * random.uniform());
  return factors;
}

inline void check_tensors(const Model& model, const std::vector<float>& actual, const std::vector<double>& expected) {
  for (const auto& parameter : model.parameters()) {
    CAPTURE(parameter.name);
    CHECK(difference(parameter, actual, expected) < 2e-5);
  }
}

/// Checks norms and weighted sums against gradients of single examples, the network's own and the slow twin's.
template <std::same_as<ExampleForm> Form>
void check_against_materialized(std::string_view line, const Form& form, int rows, std::string_view frozen_names = "") {
  CAPTURE(std::string(line));
  CAPTURE(std::string(frozen_names));
  CAPTURE(rows);
  const FloatingPointMode mode;
  const Setting setting(line, form, rows);
  const auto frozen = frozen_names.empty() ? std::vector<bool>{} : setting.model.frozen(std::string(frozen_names));
  Network network(setting.model, rows, frozen), single(setting.model, 1, frozen);
  const auto norms = norms_of(network, setting);
  const auto factors = some_factors(norms.size());
  const auto sum = weighted_sum(network, factors);
  std::vector<double> expected_sum(setting.model.size()), exact_sum(setting.model.size());
  for (std::size_t r = 0; r < norms.size(); ++r) {
    CAPTURE(r);
    const auto gradient = gradient_of(single, setting, r);
    const auto exact = exact_gradient_of(setting, r, frozen);
    CHECK(norms[r] >= norm(gradient));
    CHECK(norms[r] <= norm(gradient) * (1 + Network::kNormMargin));
    CHECK(norms[r] >= norm(exact));
    CHECK(norms[r] <= norm(exact) * (1 + Network::kNormMargin));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      expected_sum[i] += static_cast<double>(factors[r]) * static_cast<double>(gradient[i]);
      exact_sum[i] += static_cast<double>(factors[r]) * exact[i];
    }
  }
  check_tensors(setting.model, sum, expected_sum);
  check_tensors(setting.model, sum, exact_sum);
}

inline void check_against_materialized(std::string_view line, Shape input, int rows, std::string_view frozen_names = "",
                                       int classes = 5) {
  check_against_materialized(line, ExampleForm{input, classes}, rows, frozen_names);
}

}  // namespace fedstride::test

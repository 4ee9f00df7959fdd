#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "client/optim/optimizer.hpp"
#include "core/gradient.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test {

/// Reports `values` in stretches of `length` numbers, first to last, adding up what the sink returns.
inline double report(const std::vector<float>& values, std::size_t length, GradientSink sink) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); i += length)
    sum += sink(i, std::span(values).subspan(i, std::min(length, values.size() - i)));
  return sum;
}

/// Returns the given gradients in turn, whatever the weights are, and then the last one forever.
struct Scripted {
  std::vector<std::vector<float>> gradients;
  std::size_t length = 1000;
  std::size_t calls = 0;
  std::vector<std::vector<float>> asked_at = {};

  double operator()(const float* weights, GradientSink sink) {
    const auto& gradient = gradients[std::min(calls++, gradients.size() - 1)];
    asked_at.emplace_back(weights, weights + gradient.size());
    return report(gradient, length, sink);
  }
};

/// Gradient of sum_i curvature_i (x_i - centre_i)^2 / 2: recomputed in each call.
struct Quadratic {
  std::vector<float> curvature;
  std::vector<float> centre;
  std::size_t length = 1000;

  double operator()(const float* weights, GradientSink sink) const {
    std::vector<float> gradient(curvature.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = curvature[i] * (weights[i] - centre[i]);
    return report(gradient, length, sink);
  }
};

/// A client's weights under the optimizer T.
template <class T>
struct Stepped {
  T optimizer;
  typename T::State state = {};
  Vector scratch = {};
  Vector weights = {};

  Stepped(const T& tried, const std::vector<float>& start) : optimizer(tried), weights(vector_of(start)) {
    optimizer.start(state, start.size());
  }
  /// Takes a step; returns its rate, which must be the announced one.
  double step(Gradient gradient) {
    const double before = optimizer.learning_rate(state, {});
    const StepReport report = optimizer.step(state, scratch, weights, gradient, {});
    CHECK(report.accepted);
    CHECK(report.learning_rate == (optimizer.rate_follows_gradient() ? optimizer.learning_rate(state, {}) : before));
    return report.learning_rate;
  }
};

}  // namespace fedstride::test

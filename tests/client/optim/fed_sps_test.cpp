#include "client/optim/fed_sps.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::fed_sps_test {
namespace {

/// A weight vector that takes steps on a quadratic with its loss, or on a row of a linear system.
struct Run : Stepped<FedSps> {
  using Stepped::step;
  using Stepped::Stepped;
  double step(const Quadratic& bowl) {
    double loss = -1;
    const auto gradient = [&](const float* at, GradientSink sink) {
      loss = 0;
      for (std::size_t i = 0; i < bowl.curvature.size(); ++i)
        loss += 0.5 * static_cast<double>(bowl.curvature[i] * (at[i] - bowl.centre[i]) * (at[i] - bowl.centre[i]));
      return bowl(at, sink);
    };
    return step(Gradient(gradient, loss));
  }
  /// Of the loss (<row, x> - answer)^2 / 2.
  double step(const std::array<float, 3>& row, float answer) {
    double loss = -1;
    const auto gradient = [&](const float* at, GradientSink sink) {
      const float rest = row[0] * at[0] + row[1] * at[1] + row[2] * at[2] - answer;
      loss = 0.5 * static_cast<double>(rest * rest);
      return report({rest * row[0], rest * row[1], rest * row[2]}, 2, sink);
    };
    return step(Gradient(gradient, loss));
  }
};

const Quadratic kBowl{.curvature = {1, 4}, .centre = {0, 0}};

}  // namespace

// At (2, 1): loss (4 + 4) / 2 = 4, gradient (2, 4), squared norm 20, rate 4 / (0.5 x 20) = 0.4, next (1.2, -0.6). There: loss 1.44,
// gradient (1.2, -2.4), squared norm 7.2, rate 0.4 again, next (0.72, 0.36).
TEST_CASE("FedSPS by hand: the rate is the loss over c times the squared norm of the gradient") {
  Run run(FedSps{}, {2, 1});
  CHECK(run.step(kBowl) == doctest::Approx(0.4));
  CHECK(run.weights[0] == doctest::Approx(1.2));
  CHECK(run.weights[1] == doctest::Approx(-0.6));
  CHECK(run.step(kBowl) == doctest::Approx(0.4));
  CHECK(run.weights[0] == doctest::Approx(0.72));
  CHECK(run.weights[1] == doctest::Approx(0.36));
  CHECK(Run(FedSps({.c = 1}), {2, 1}).step(kBowl) == doctest::Approx(0.2));
  CHECK(Run(FedSps({.c = 0.5, .max_rate = 0.3}), {2, 1}).step(kBowl) == doctest::Approx(0.3));
}

// With c = 1/2 the rate is 1 / |row|^2: the step of Kaczmarz, which projects onto the row's solutions.
TEST_CASE("a step solves a batch of one row exactly, and passes over the rows solve the system, without a rate") {
  const std::array<float, 3> rows[] = {{2, 0, 1}, {0, 3, 1}, {1, -1, 4}};
  const float answers[] = {4, 9, 10.5F};  // of (0.5, 2, 3)
  Run run(FedSps({.max_rate = 1e6}), {0, 0, 0});
  for (int pass = 0; pass < 60; ++pass)
    for (std::size_t i = 0; i < 3; ++i) {
      const double rate = run.step(rows[i], answers[i]);
      if (pass < 5)
        CHECK(rate == doctest::Approx(1 / (rows[i][0] * rows[i][0] + rows[i][1] * rows[i][1] + rows[i][2] * rows[i][2])));
      const float left = rows[i][0] * run.weights[0] + rows[i][1] * run.weights[1] + rows[i][2] * run.weights[2] - answers[i];
      CHECK(std::abs(left) < 3e-6F);
    }
  CHECK(run.weights[0] == doctest::Approx(0.5).epsilon(1e-5));
  CHECK(run.weights[1] == doctest::Approx(2).epsilon(1e-5));
  CHECK(run.weights[2] == doctest::Approx(3).epsilon(1e-5));
}

TEST_CASE("where loss and gradient are 0, or nobody knows the loss, the rate is its bound") {
  Run solved(FedSps({.max_rate = 0.7}), {0, 0});
  CHECK(solved.step(kBowl) == 0.7);
  CHECK(values_of(solved.weights) == std::vector<float>{0, 0});
  Scripted script{.gradients = {{1, 1}}};
  CHECK(Run(FedSps({.max_rate = 0.7}), {0, 0}).step(Gradient(script)) == 0.7);
}

}  // namespace fedstride::test::fed_sps_test

#include "client/optim/schedule_free.hpp"

#include <doctest/doctest.h>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::schedule_free_test {
namespace {

struct Run : Stepped<ScheduleFree> {
  using Stepped::Stepped;
  /// x after a step.
  float next(Gradient gradient) {
    step(gradient);
    return weights[0];
  }
};

const Quadratic kBowl{.curvature = {1}, .centre = {0}};

}  // namespace

// f = x^2 / 2 from 1, rate 0.5, beta 0.9:
//   t = 1: y = 1,                             z = 0.5,                     x = 1/2 x 1 + 1/2 x 0.5 = 0.75
//   t = 2: y = 0.1 x 0.5 + 0.9 x 0.75 = 0.725, z = 0.5 - 0.3625 = 0.1375,   x = 2/3 x 0.75 + 1/3 x 0.1375 = 0.54583333
//   t = 3: y = 0.01375 + 0.49125 = 0.505,     z = 0.1375 - 0.2525 = -0.115, x = 3/4 x 0.54583333 - 0.02875 = 0.380625
TEST_CASE("schedule-free SGD by hand: gradients at y, steps of z, and x the mean of 1 and all z") {
  Run run(ScheduleFree({.rate = 0.5}), {1});
  CHECK(run.next(kBowl) == doctest::Approx(0.75));
  CHECK(run.next(kBowl) == doctest::Approx(0.54583333));
  CHECK(run.next(kBowl) == doctest::Approx(0.380625));
  CHECK(run.state.iterate[0] == doctest::Approx(-0.115));
  Scripted asked{.gradients = {{0}}};
  run.step(asked);
  CHECK(asked.asked_at[0][0] == doctest::Approx(0.1 * -0.115 + 0.9 * 0.380625));
}

TEST_CASE("beta 0 computes gradients at z, beta 1 at the average x") {
  Run polyak(ScheduleFree({.rate = 0.5, .interpolation = 0}), {1});  // z = 0.5, 0.25: SGD
  polyak.step(kBowl);
  CHECK(polyak.next(kBowl) == doctest::Approx((1 + 0.5 + 0.25) / 3));
  Run primal(ScheduleFree({.rate = 0.5, .interpolation = 1}), {1});  // z = 0.5, 0.5 - 0.375
  primal.step(kBowl);
  CHECK(primal.next(kBowl) == doctest::Approx((1 + 0.5 + 0.125) / 3));
}

// A client keeps neither z nor t: the round begins with z = x = the model received.
TEST_CASE("each round is a run of its own from the model received") {
  Run run(ScheduleFree({.rate = 0.5}), {1});
  run.step(kBowl);
  run.step(kBowl);
  run.optimizer.hear(run.state, {});
  run.weights[0] = 2;
  CHECK(run.next(kBowl) == doctest::Approx(1.5));
  CHECK(run.state.iterate[0] == doctest::Approx(1));
}

// With a constant gradient of 1, z is at 1, 2, ..., T rates, and the mean of 0 and these is T/2.
TEST_CASE("the reach is that of x: T/2 rates without a pull, and with one what a weight would move") {
  ScheduleFree optimizer({.rate = 0.5});
  UnitWeight unit;
  for (int t = 0; t < 3; ++t) optimizer.follow(unit, {.learning_rate = 0.5});
  CHECK(unit.moved == doctest::Approx(0.75));
  // The gradient 1 + 2 (x - x_0) of a weight moving down.
  Run run(optimizer, {0});
  const auto pulled = [](const float* at, GradientSink sink) { return report({1 + 2 * at[0]}, 1, sink); };
  UnitWeight same{.pull = 2};
  for (int t = 0; t < 5; ++t) {
    run.step(pulled);
    optimizer.follow(same, {.learning_rate = 0.5});
    CHECK(run.weights[0] == doctest::Approx(-same.moved).epsilon(1e-5));
  }
}

}  // namespace fedstride::test::schedule_free_test

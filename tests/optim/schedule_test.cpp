#include <doctest/doctest.h>

#include "optim/optimizers.hpp"
#include "tests/optim/gradients.hpp"

using namespace fedstride;

namespace {

Schedule schedule(const char* name, double initial) {
  Schedule result;
  result.schedule = name;
  result.initial_rate = initial;
  return result;
}

}  // namespace

TEST_CASE("a constant rate stays") {
  const Schedule constant = schedule("constant", 0.05);
  CHECK(constant.rate({.epoch = 0}) == 0.05);
  CHECK(constant.rate({.epoch = 1000}) == 0.05);
}

TEST_CASE("Abadi et al.: 0.1 falls linearly to 0.052 over 10 epochs and stays there") {
  Schedule linear = schedule("linear", 0.1);
  linear.final_rate = 0.052;
  linear.schedule_epochs = 10;
  CHECK(linear.rate({.epoch = 0}) == 0.1);
  CHECK(linear.rate({.epoch = 1}) == doctest::Approx(0.0952).epsilon(1e-12));
  CHECK(linear.rate({.epoch = 5}) == doctest::Approx(0.076).epsilon(1e-12));
  CHECK(linear.rate({.epoch = 10}) == 0.052);
  CHECK(linear.rate({.epoch = 99}) == 0.052);
}

TEST_CASE("an inverse rate is half after 1/decay epochs") {
  Schedule inverse = schedule("inverse", 0.3);
  inverse.decay = 0.1;
  CHECK(inverse.rate({.epoch = 0}) == 0.3);
  CHECK(inverse.rate({.epoch = 5}) == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(inverse.rate({.epoch = 10}) == doctest::Approx(0.15).epsilon(1e-12));
}

TEST_CASE("every schedule the flag admits has a formula, and no other") {
  Schedule any;
  for (const auto name : split(std::get<1>(Schedule::kScheduleFields).valid.choices, '|')) {
    any.schedule = name;
    CHECK(any.rate({.epoch = 3}) > 0);
  }
  any.schedule = "cosine";
  CHECK_THROWS_WITH_AS(any.rate({}), "schedule 'cosine' is unknown; valid: constant, linear, inverse", Error);
}

TEST_CASE_TEMPLATE("the optimisers with a schedule follow it", T, Sgd, HeavyBall, Ema, Adam) {
  T optimizer;
  optimizer.schedule = "inverse";
  optimizer.initial_rate = 0.4;
  optimizer.decay = 1;
  typename T::State state;
  typename T::Scratch scratch;
  optimizer.start(state, 1);
  Vector weights(1);
  test::Scripted gradient{.gradients = {{1.0F}}};
  CHECK(optimizer.step(state, scratch, weights, gradient, {.epoch = 3}).learning_rate == doctest::Approx(0.1));
  CHECK(weights[0] == doctest::Approx(-0.1));  // the first step of each is the rate times the gradient 1
}

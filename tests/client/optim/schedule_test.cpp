#include <doctest/doctest.h>

#include <set>

#include "client/optim/adam.hpp"
#include "client/optim/ema.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "tests/client/optim/gradients.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::schedule_test {
namespace {

Schedule schedule(RateSchedule kind, double initial) {
  Schedule result;
  result.schedule = kind;
  result.initial_rate = initial;
  return result;
}

}  // namespace

TEST_CASE("a constant rate stays") {
  const Schedule constant = schedule(RateSchedule::constant, 0.05);
  CHECK(constant.rate({.epoch = 0}) == 0.05);
  CHECK(constant.rate({.epoch = 1000}) == 0.05);
}

TEST_CASE("Abadi et al.: 0.1 falls linearly to 0.052 over 10 epochs and stays there") {
  Schedule linear = schedule(RateSchedule::linear, 0.1);
  linear.final_rate = 0.052;
  linear.schedule_epochs = 10;
  CHECK(linear.rate({.epoch = 0}) == 0.1);
  CHECK(linear.rate({.epoch = 1}) == doctest::Approx(0.0952).epsilon(1e-12));
  CHECK(linear.rate({.epoch = 5}) == doctest::Approx(0.076).epsilon(1e-12));
  CHECK(linear.rate({.epoch = 9}) > 0.052);  // in the tenth epoch: the end is not reached yet
  CHECK(linear.rate({.epoch = 10}) == 0.052);
  CHECK(linear.rate({.epoch = 99}) == 0.052);
}

TEST_CASE("an inverse rate is half after 1/decay epochs") {
  Schedule inverse = schedule(RateSchedule::inverse, 0.3);
  inverse.decay = 0.1;
  CHECK(inverse.rate({.epoch = 0}) == 0.3);
  CHECK(inverse.rate({.epoch = 5}) == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(inverse.rate({.epoch = 10}) == doctest::Approx(0.15).epsilon(1e-12));
}

TEST_CASE("every schedule the flag accepts has its own formula, and others are refused") {
  std::set<double> rates;
  Schedule any;
  for (const auto name : kChoiceNames<RateSchedule>) {
    any.schedule = make_choice<RateSchedule>("schedule", name);
    CHECK(rates.insert(any.rate({.epoch = 3})).second);
  }
  CHECK(*rates.begin() > 0);
  const Optimizer sgd = Sgd{};
  const SettingInfo* setting = sgd.part().find("schedule");
  REQUIRE(setting != nullptr);
  CHECK_USAGE_ERROR(setting->check("cosine"), "schedule", "cosine", "constant", "linear", "inverse");
}

TEST_CASE_TEMPLATE("optimizers with a schedule follow it", T, Sgd, HeavyBall, Ema, Adam) {
  T optimizer;
  optimizer.schedule = RateSchedule::inverse;
  optimizer.initial_rate = 0.4;
  optimizer.decay = 1;
  typename T::State state;
  Vector scratch;
  optimizer.start(state, 1);
  Vector weights(1);
  Scripted gradient{.gradients = {{1.0F}}};
  CHECK(optimizer.step(state, scratch, weights, gradient, {.epoch = 3}).learning_rate == doctest::Approx(0.1));
  CHECK(weights[0] == doctest::Approx(-0.1));  // the first step of each is the rate times the gradient 1
}

}  // namespace fedstride::test::schedule_test

#include "optim/pooled.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "core/error.hpp"
#include "core/random.hpp"
#include "optim/optimizer_of.hpp"
#include "tests/optim/gradients.hpp"

namespace fedstride::test::pooled_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Run {
  Pooled pooled;
  Pooled::State state = {};
  Pooled::Scratch scratch = {};
  Vector weights = {};

  Run(Pooled optimizer, const std::vector<float>& start, std::vector<double> told = {})
      : pooled(optimizer), weights(vector_of(start)) {
    pooled.start(state, start.size());
    pooled.hear(state, told);
  }
  StepReport step(Gradient gradient, double of_round = 0) {
    return pooled.step(state, scratch, weights, gradient, {.of_round = of_round});
  }
};

}  // namespace

// T = 50 x 4 steps, kappa sqrt(4) = 2, |theta_0| = 3: 6 sqrt(3 / 400) = 0.519615.
TEST_CASE("the tolerance at the rounds' ends, by hand: it falls in a line, and stays at the last step's beyond the horizon") {
  const PoolPlan plan{.start_norm = 3, .steps_a_round = 50, .clients_a_round = 4, .rounds = 4};
  Pooled pooled{.max_tolerance = 10};
  const Pooled::Pool pool = pooled.begin_pool(plan);
  const auto told = [&](std::uint32_t round) { return pooled.tell(pool, round); };
  CHECK(told(1)[0] == doctest::Approx(0.5196152));
  CHECK(told(1)[1] == doctest::Approx(0.3897114));
  CHECK(told(4)[0] == doctest::Approx(0.1299038));
  CHECK(told(4)[1] == doctest::Approx(0.5196152 / 200));
  CHECK(told(7)[0] == told(4)[1]);
  CHECK(told(7)[1] == told(4)[1]);
  CHECK(told(1)[2] == 0);

  pooled.horizon = 8;
  CHECK(pooled.tell(pooled.begin_pool(plan), 1)[0] == doctest::Approx(0.5196152 / std::sqrt(2)));
  pooled.horizon = 0;
  pooled.kappa = 0.5;
  CHECK(pooled.tell(pooled.begin_pool(plan), 1)[0] == doctest::Approx(0.2598076));
  pooled.kappa = 1;
  pooled.course = Course::constant;  // 6 / sqrt(2 x 200): the squares of all steps have the same sum
  for (const std::uint32_t round : {1, 4, 9}) CHECK(pooled.tell(pooled.begin_pool(plan), round)[1] == doctest::Approx(0.3));
}

// Steps of a short run would be longer than the weights bear: 0.3 at most, in both courses and whatever the first weights' norm.
TEST_CASE("the tolerance is bounded") {
  const PoolPlan plan{.start_norm = 20, .steps_a_round = 50, .clients_a_round = 4, .rounds = 20};
  Pooled pooled;  // falls from 1.5491933 by 0.0774597 a round
  const auto told = [&](std::uint32_t round) { return pooled.tell(pooled.begin_pool(plan), round); };
  CHECK(told(1)[0] == doctest::Approx(0.3));
  CHECK(told(16)[1] == doctest::Approx(0.3));
  CHECK(told(17)[1] == doctest::Approx(3 * 0.0774597));
  CHECK(told(20)[0] == doctest::Approx(0.0774597));
  pooled.course = Course::constant;
  CHECK(told(20)[1] == doctest::Approx(0.3));
  pooled.max_tolerance = 2;
  CHECK(told(20)[1] == doctest::Approx(0.8944272));  // 40 / sqrt(2 x 1000)
}

TEST_CASE("V is the mean over rounds of each round's mean; a round without steps has none") {
  Pooled pooled;
  Pooled::Pool pool = pooled.begin_pool({.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 9});
  pooled.take(pool, 6, 3);
  pooled.take(pool, 0, 0);
  pooled.take(pool, 8, 2);
  CHECK(pooled.tell(pool, 3)[2] == 3);
  pooled.rate_of = RateOf::client;
  CHECK(pooled.tell(pool, 3)[2] == 0);
}

// eta = 0.2 / sqrt(4) = 0.1; half steps -0.05 x 2 and -0.05 x 1.
TEST_CASE("a step with a told V, by hand") {
  Run run({}, {1}, {0.2, 0.2, 4});
  Scripted gradient{.gradients = {{2}, {1}}};
  const StepReport report = run.step(gradient);
  CHECK(report.accepted);
  CHECK(report.learning_rate == doctest::Approx(0.1));
  CHECK(report.error == doctest::Approx(0.05).epsilon(1e-5));
  CHECK(report.statistic == doctest::Approx(0.25).epsilon(1e-5));
  CHECK(run.weights[0] == doctest::Approx(0.85));
  REQUIRE(gradient.calls == 2);
  CHECK(gradient.asked_at[1][0] == doctest::Approx(0.9));
}

TEST_CASE("the tolerance, and the rate with it, falls within the round") {
  Run run({}, {1}, {0.2, 0.1, 4});
  Scripted gradient{.gradients = {{1}}};
  CHECK(run.step(gradient, 0.5).learning_rate == doctest::Approx(0.075));
  CHECK(run.pooled.learning_rate(run.state, {.of_round = 1}) == doctest::Approx(0.05));
}

// c = 0.5 x 0.2 / sqrt(2) = 0.0707107.
TEST_CASE("the first half step, and half of the whole, are cut to the longest, and count as cut") {
  const Pooled pooled{.max_step = 0.5};
  Run first(pooled, {1}, {0.2, 0.2, 4});
  Scripted long_first{.gradients = {{2}, {1}}};
  CHECK(first.step(long_first).statistic == doctest::Approx(std::pow(0.0207107, 2) / 0.01).epsilon(1e-4));
  CHECK(first.weights[0] == doctest::Approx(1 - 0.0707107 - 0.05));
  CHECK(long_first.asked_at[1][0] == doctest::Approx(1 - 0.0707107));

  Run second(pooled, {1, 1}, {0.2, 0.2, 4});
  Scripted long_second{.gradients = {{0, 1}, {3, 0}}};
  const StepReport report = second.step(long_second);
  // (0.15, 0.05) is 0.158114 long, 2c is 0.141421: cut to 0.894427 of itself.
  CHECK(second.weights[0] == doctest::Approx(1 - 0.1341641));
  CHECK(second.weights[1] == doctest::Approx(1 - 0.0447214));
  CHECK(report.statistic == doctest::Approx(0.8 * (0.0225 + 0.0025) / 0.01).epsilon(1e-4));

  // 0.07 and 0.05 at right angles: 2 |d1| + |d1 - d2| is above 2c, |d1 + d2| is not, and nothing is cut.
  Run neither(pooled, {1, 1}, {0.2, 0.2, 4});
  Scripted right_angle{.gradients = {{0, 1.4F}, {1, 0}}};
  neither.step(right_angle);
  CHECK(neither.weights[0] == doctest::Approx(0.95));
  CHECK(neither.weights[1] == doctest::Approx(0.93));
}

TEST_CASE("a step is undone only where it is not finite, bit for bit, and then has no statistic") {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const bool in_first : {true, false}) {
      Run run({}, {1, 2}, {0.2, 0.2, 4});
      Scripted gradient{.gradients = {{in_first ? bad : 1, 1}, {in_first ? 1 : bad, 1}}};
      const StepReport report = run.step(gradient);
      CHECK_FALSE(report.accepted);
      CHECK(std::isnan(report.statistic));
      CHECK(values_of(run.weights) == std::vector<float>{1, 2});
    }
  Run run({}, {1}, {0.2, 0.2, 4});
  Scripted steep{.gradients = {{1e4F}, {-1e4F}}};
  CHECK(run.step(steep).accepted);
  CHECK(run.weights[0] - 1 == doctest::Approx(4 * 0.2 * std::sqrt(2.0)));  // 2c, the way of the longer half
}

TEST_CASE("until a V is told, each client goes 10 % a step towards its own mean; the round's second half counts") {
  Run run({}, {1}, {0.2, 0.2, 0});
  Scripted gradient{.gradients = {{2}, {1}}};  // then 1 and 1: no difference
  StepReport report = run.step(gradient);
  CHECK(report.learning_rate == 0.1);
  CHECK(std::isnan(report.statistic));
  CHECK(run.state.learning_rate == doctest::Approx(0.11));  // 0.2 / sqrt(0.25) = 0.4 is the aim
  report = run.step(gradient, 0.5);
  CHECK(report.learning_rate == doctest::Approx(0.11));
  CHECK(report.statistic == doctest::Approx(0));
  Scripted noisy{.gradients = {{100}, {-100}}};
  run.step(noisy, 0.6);
  CHECK(run.state.learning_rate == doctest::Approx(0.121 * 0.9));
}

// The gradients are noise of standard deviation s in d weights: u is d s^2 / 2 on average, so all steps together move the weights
// by sum tol_t^2 = |theta_0|^2 / 2, squared (docs/adaptive.md).
TEST_CASE("the noise of all steps moves the weights as far as predicted") {
  constexpr std::size_t kSize = 400;
  constexpr int kSteps = 300;
  constexpr double kDeviation = 7;
  std::uint32_t drawn = 0;
  const auto noise = [&](const float*, GradientSink sink) {
    RandomStream random(3, {.purpose = Purpose::test, .row = drawn++});
    std::vector<float> gradient(kSize);
    for (float& value : gradient) value = static_cast<float>(kDeviation * random.normal());
    return report(gradient, 1000, sink);
  };
  for (const auto course : {Course::falling, Course::constant})
    for (const double norm : {0.5, 20.0}) {
      Pooled pooled{.max_tolerance = 10};
      pooled.course = course;
      const auto plan = pooled.begin_pool({.start_norm = norm, .steps_a_round = kSteps, .clients_a_round = 1, .rounds = 1});
      const auto told = pooled.tell(plan, 1);
      std::vector<float> start(kSize, static_cast<float>(norm / std::sqrt(kSize)));
      Run run(pooled, start, {told[0], told[1], kSize * kDeviation * kDeviation / 2});
      for (int step = 0; step < kSteps; ++step) run.step(noise, static_cast<double>(step) / kSteps);
      double squares = 0;
      for (std::size_t i = 0; i < kSize; ++i) squares += std::pow(run.weights[i] - start[i], 2);
      CHECK(squares / (norm * norm) == doctest::Approx(0.5).epsilon(0.1));
    }
}

TEST_CASE("what cannot be planned or told is refused in one line") {
  const Pooled pooled;
  const auto plan = [&](PoolPlan impossible) { pooled.begin_pool(impossible); };
  const PoolPlan good{.start_norm = 1, .steps_a_round = 1, .clients_a_round = 1, .rounds = 1};
  CHECK_NOTHROW(plan(good));
  for (const double norm : {0.0, -1.0, kInfinity, std::nan("")}) {
    PoolPlan bad = good;
    bad.start_norm = norm;
    CHECK_THROWS_WITH_AS(plan(bad), doctest::Contains("valid is a finite one above 0"), Error);
  }
  PoolPlan bad = good;
  bad.steps_a_round = 0;
  CHECK_THROWS_WITH_AS(plan(bad), "optimizer 'pooled' plans 0 steps of a client; valid is 1 or more", Error);
  for (const std::vector<double>& told : std::vector<std::vector<double>>{
           {1}, {1, 1, 1, 1}, {0, 0, 1}, {-1, 1, 1}, {1, -1, 1}, {1, 1, -1}, {kInfinity, 1, 1}, {1, 1, std::nan("")}}) {
    Pooled::State state;
    CHECK_THROWS_WITH_AS(pooled.hear(state, told), doctest::Contains("optimizer 'pooled' takes 3"), Error);
  }
}

TEST_CASE("the server's side is saved, loaded and goes on") {
  const Optimizer optimizer{Pooled{}};
  REQUIRE(optimizer->pools());
  const PoolPlan plan{.start_norm = 3, .steps_a_round = 50, .clients_a_round = 4, .rounds = 4};
  const auto one = optimizer->begin_pool(plan);
  one->take(6, 3);
  std::ostringstream bytes;
  one->save(bytes);
  const auto other = optimizer->begin_pool({.start_norm = 1, .steps_a_round = 1, .clients_a_round = 1, .rounds = 1});
  std::istringstream back(bytes.str());
  other->load(back);
  for (const auto& pool : {one.get(), other.get()}) pool->take(8, 2);
  CHECK(other->tell(3) == one->tell(3));
  Optimizer sgd;
  sgd.choose("sgd");
  CHECK_FALSE(sgd->pools());
  CHECK(sgd->begin_pool(plan) == nullptr);
}

}  // namespace fedstride::test::pooled_test

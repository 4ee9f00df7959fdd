#include "client/optim/pooled.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "client/optim/optimizer.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "tests/client/optim/gradients.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::pooled_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Run {
  Pooled pooled;
  Pooled::State state = {};
  Vector scratch = {};
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
TEST_CASE("what the server tells of the tolerance, by hand: its scale, its bound, and what is left of the run") {
  const PoolPlan plan{.start_norm = 3, .steps_a_round = 50, .clients_a_round = 4, .rounds = 4};
  Pooled pooled({.max_tolerance = {.value = 10}});
  const auto pool = pooled.begin_pool(plan);
  const auto told = [&](std::uint32_t round) { return pool->tell(round); };
  CHECK(told(1)[0] == doctest::Approx(0.5196152));
  CHECK(told(1)[1] == 10);
  CHECK(told(1)[2] == 1);
  CHECK(told(1)[3] == 0.75);
  CHECK(told(4)[2] == 0.25);
  CHECK(told(4)[3] == 0);  // the last of the round's 50 steps has 1/200 left
  CHECK(told(7)[2] == doctest::Approx(1.0 / 200));
  CHECK(told(7)[3] == told(7)[2]);

  pooled.horizon = 8;
  CHECK(pooled.begin_pool(plan)->tell(1)[0] == doctest::Approx(0.5196152 / std::sqrt(2)));
  pooled.horizon = 0;
  pooled.kappa = 0.5;
  CHECK(pooled.begin_pool(plan)->tell(1)[0] == doctest::Approx(0.2598076));
  pooled.kappa = 1;
  pooled.course = ToleranceSchedule::constant;  // 6 / sqrt(2 x 200): the squares of all steps have the same sum
  for (const std::uint32_t round : {1, 4, 9}) {
    const auto constant = pooled.begin_pool(plan)->tell(round);
    CHECK(constant[0] == doctest::Approx(0.3));
    CHECK(constant[2] == 1);
    CHECK(constant[3] == 1);
  }
}

// The rate is tol / sqrt(V) with V = 1: it shows the tolerance.
TEST_CASE("the tolerance within a round, by hand: the bound holds for half of the run and then falls to 0") {
  const auto tolerance = [](double left_at_start, double left_at_end, double of_round) {
    const Run run({}, {1}, {0.8, 0.3, left_at_start, left_at_end, 1});
    return run.pooled.learning_rate(run.state, {.of_round = of_round});
  };
  CHECK(tolerance(1, 0.8, 0) == doctest::Approx(0.3));
  CHECK(tolerance(0.6, 0.5, 0.5) == doctest::Approx(0.3));
  CHECK(tolerance(0.6, 0.4, 0.5) == doctest::Approx(0.3));
  CHECK(tolerance(0.5, 0.3, 0.5) == doctest::Approx(0.24));  // 0.6 x 0.4; 0.8 x 0.4 is more
  CHECK(tolerance(0.2, 0, 0.75) == doctest::Approx(0.03));
  CHECK(tolerance(0.2, 0, 1) == 0);
  const Run scaled({}, {1}, {0.1, 0.3, 1, 0.5, 1});  // the scale is the smaller one throughout
  CHECK(scaled.pooled.learning_rate(scaled.state, {.of_round = 0.5}) == doctest::Approx(0.075));
}

TEST_CASE("V is the mean over rounds of each round's mean; a round without steps has none; the rate at most doubles") {
  Pooled pooled({.max_tolerance = {.value = 10}, .course = ToleranceSchedule::constant});
  // Constant tolerance sqrt(1 / (2 x 50)) = 0.1 x sqrt(1) for |theta_0| = 1, T = 50.
  const PoolPlan plan{.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 10};
  const auto pool = pooled.begin_pool(plan);
  CHECK(pool->tell(1)[0] == doctest::Approx(0.1));
  CHECK(pool->tell(1)[4] == doctest::Approx(1));  // so that the rate is learning-rate, 0.1
  pool->take(1, {.statistic = 6, .statistics = 3});
  CHECK(pool->tell(2)[4] == 2);
  pool->take(2, {});
  CHECK(pool->tell(3)[4] == 2);  // a rate of 0.1 / sqrt(2)
  pool->take(3, {.statistic = 8, .statistics = 2});
  CHECK(pool->tell(4)[4] == 3);
  const auto calm = pooled.begin_pool(plan);
  calm->take(1, {.statistic = 1e-6, .statistics = 1});
  CHECK(calm->tell(2)[4] == doctest::Approx(0.25));  // the rate becomes 0.2
  calm->take(2, {.statistic = 1e-6, .statistics = 1});
  CHECK(calm->tell(3)[4] == doctest::Approx(0.0625));
  pooled.rate_of = RateOf::client;
  const auto own = pooled.begin_pool(plan);
  own->take(1, {.statistic = 6, .statistics = 3});
  CHECK(own->tell(2)[4] == 0);
}

// 0.21 k^(1/4): two pairs with squared cosines 0.3 and 0.1 have k = 5, the next round's mean with it k = 1 / 0.15.
TEST_CASE("the bound grows with the number of directions in which consecutive differences point") {
  const PoolPlan plan{.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 9};
  const Pooled pooled;
  const auto pool = pooled.begin_pool(plan);
  CHECK(pool->tell(1)[1] == 0.3);
  pool->take(1, {.statistic = 1, .statistics = 5});
  CHECK(pool->tell(2)[1] == 0.3);
  pool->take(2, {.statistic = 1, .statistics = 5, .alignment = 0.4, .pairs = 2});
  CHECK(pool->tell(3)[1] == doctest::Approx(0.21 * std::pow(5, 0.25)));
  pool->take(3, {.statistic = 1, .statistics = 5, .alignment = 0.1, .pairs = 1});
  CHECK(pool->tell(4)[1] == doctest::Approx(0.21 * std::pow(1 / 0.15, 0.25)));
  pool->take(4, {.statistic = 1, .statistics = 5, .alignment = 0, .pairs = 1000});
  CHECK(std::isfinite(pool->tell(5)[1]));
  const auto fixed = Pooled({.max_tolerance = {.value = 0.3}}).begin_pool(plan);
  fixed->take(1, {.statistic = 1, .statistics = 5, .alignment = 0.4, .pairs = 2});
  CHECK(fixed->tell(2)[1] == 0.3);
}

// N = 600 in 10,000 directions, and 0.5 more at first; of 100, the gradients' share is 1/4.
TEST_CASE("V begins with the noise that is known, and what is measured counts above it; by hand") {
  PoolPlan plan{.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 10};
  plan.noise = [](std::uint32_t round, double) {
    return KnownNoise{.noise = round < 4 ? 600.0 : 150.0, .gradients = 0.5, .directions = 1e4};
  };
  const Pooled pooled({.course = ToleranceSchedule::constant});
  const auto pool = pooled.begin_pool(plan);
  CHECK(pool->tell(1)[4] == 600.5);
  const double other = 0.5 / 600.5;
  const double cosine = (1 - other) * (1 + other) / 1e4 + other * other;
  CHECK(pool->tell(1)[1] == doctest::Approx(0.3 / std::pow(cosine, 0.25)));
  pool->take(1, {.statistic = 1197, .statistics = 2, .alignment = 0.002, .pairs = 2});  // less than the noise, by chance
  CHECK(pool->tell(2)[4] == doctest::Approx(600.125));   // what is above the noise falls to a quarter at most
  CHECK(pool->tell(2)[1] == doctest::Approx(0.3 * 10));  // directions: 10,000, not the 1,000 of one measurement
  pool->take(2, {.statistic = 1211, .statistics = 2});
  CHECK(pool->tell(3)[4] == doctest::Approx(602));  // the mean of -1.5 and 5.5
  pool->take(3, {});
  CHECK(pool->tell(4)[4] == doctest::Approx(152));  // of this round's noise, and no limit on how the rate follows it
  pool->take(4, {.statistic = 150 + 596, .statistics = 1, .alignment = 0.5, .pairs = 1});
  CHECK(pool->tell(5)[4] == doctest::Approx(350));
  const double share = 150.0 / 350;
  CHECK(pool->tell(5)[1] == doctest::Approx(0.3 / std::pow(0.2505, 0.25)));  // below that of the shares, 0.3265
  CHECK(0.2505 < share * (share + 2 * (1 - share)) / 1e4 + (1 - share) * (1 - share));
  pool->take(5, {.statistic = 1e5, .statistics = 1});
  pool->take(6, {.statistic = 0, .statistics = 1});
  CHECK(pool->tell(7)[4] > 150);

  // Saved and loaded, it tells the same; noise is not part of the state.
  std::stringstream bytes;
  pool->save(bytes);
  const auto again = pooled.begin_pool(plan);
  again->load(bytes);
  CHECK(again->tell(8) == pool->tell(8));

  const Pooled old({.rule = PooledRule::version_0_3});
  CHECK(old.begin_pool(plan)->tell(1)[4] == 0);
}

// At bounds of 1 and 2 the noise is 100 and 400; the part of V above it falls from 0.5 to 0.125.
TEST_CASE("a bound that moves changes the noise that is known, and the limit on the rate counts from the bound before") {
  PoolPlan plan{.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 10};
  plan.noise = [](std::uint32_t, double clip) {
    return KnownNoise{.noise = 100 * clip * clip, .gradients = 0.5, .directions = 1e4};
  };
  const Pooled pooled({.max_tolerance = {.value = 0.3}, .course = ToleranceSchedule::constant});
  const auto pool = pooled.begin_pool(plan);
  pool->clip_lots(1);
  CHECK(pool->tell(1)[4] == 100.5);
  pool->take(1, {.statistic = 100, .statistics = 1});
  pool->clip_lots(2);
  CHECK(pool->tell(2)[4] == doctest::Approx(400.125));

  std::stringstream bytes;
  pool->save(bytes);
  const auto again = pooled.begin_pool(plan);
  again->clip_lots(2);
  again->load(bytes);
  CHECK(again->tell(2) == pool->tell(2));
}

TEST_CASE(
    "without noise to speak of the first rate is bounded by what clipped gradients can differ by, and then at most doubles") {
  PoolPlan plan{.start_norm = 1, .steps_a_round = 5, .clients_a_round = 1, .rounds = 10};
  plan.noise = [](std::uint32_t, double) { return KnownNoise{.noise = 1e-12, .gradients = 0.5, .directions = 1e4}; };
  const auto pool = Pooled({.course = ToleranceSchedule::constant}).begin_pool(plan);
  CHECK(pool->tell(1)[4] == doctest::Approx(0.5));
  CHECK(pool->tell(1)[1] == doctest::Approx(0.3));  // one direction
  pool->take(1, {.statistic = 1e-9, .statistics = 1, .alignment = 0.0625, .pairs = 1});
  CHECK(pool->tell(2)[4] == doctest::Approx(0.125));
  CHECK(pool->tell(2)[1] == doctest::Approx(0.6));  // as measured: 16 directions
}

// Differences (1, 0) and (1, 1) times eta/2: the squared cosine is 1/2.
TEST_CASE("of every 16 steps the second and the third are compared") {
  Run run({}, {0, 0}, {0.1, 0.3, 1, 1, 1});
  Scripted gradient{.gradients = {{9, 9}, {0, 0}, {1, 0}, {0, 0}, {1, 1}, {0, 0}, {0, 1}, {0, 0}}};
  for (const int step : {0, 1}) {
    CAPTURE(step);
    CHECK(std::isnan(run.step(gradient).alignment));
  }
  CHECK(run.step(gradient).alignment == doctest::Approx(0.5));
  for (int step = 3; step < 18; ++step) CHECK(std::isnan(run.step(gradient).alignment));
  CHECK(std::isnan(run.step(gradient).alignment));  // no difference
  run.pooled.hear(run.state, {});
  Scripted calm{.gradients = {{1, 0}, {0, 0}}}, damaged{.gradients = {{std::nanf(""), 0}, {0, 0}}};
  run.step(calm);
  run.step(calm);
  CHECK(std::isnan(run.step(damaged).alignment));
}

TEST_CASE("a client whose own steps differ more than was told takes a smaller rate for the rest of the round") {
  Run run({}, {0}, {0.1, 0.3, 1, 1, 1});
  Scripted gradient{.gradients = {{5}, {-1}, {1}, {1}}};
  CHECK(run.step(gradient).learning_rate == doctest::Approx(0.1));  // u = 36 / 4
  CHECK(run.step(gradient).learning_rate == doctest::Approx(0.1 / 3));
  CHECK(run.step(gradient).learning_rate == doctest::Approx(0.1 / std::sqrt(4.5)));
  run.pooled.hear(run.state, {});
  CHECK(run.step(gradient).learning_rate == doctest::Approx(0.1));
}

TEST_CASE(
    "the rule of version 0.3: tolerances at the rounds' ends, a bound that does not fall, V from the second half of round 1") {
  const PoolPlan plan{.start_norm = 20, .steps_a_round = 50, .clients_a_round = 4, .rounds = 20};
  Pooled pooled({.rule = PooledRule::version_0_3});  // falls from 1.5491933 by 0.0774597 a round
  const auto pool = pooled.begin_pool(plan);
  const auto told = [&](std::uint32_t round) { return pool->tell(round); };
  CHECK(told(1)[2] == doctest::Approx(0.3));
  CHECK(told(16)[3] == doctest::Approx(0.3));
  CHECK(told(17)[3] == doctest::Approx(3 * 0.0774597));
  CHECK(told(20)[3] == doctest::Approx(1.5491933 / 1000));
  CHECK(told(1)[4] == 0);
  pool->take(1, {.statistic = 6, .statistics = 3, .alignment = 1, .pairs = 1});
  pool->take(2, {.statistic = 2, .statistics = 2});
  CHECK(told(3)[4] == 1.5);
  Run run(pooled, {1}, pooled.begin_pool(plan)->tell(1));
  Scripted gradient{.gradients = {{2}, {1}}};
  CHECK(std::isnan(run.step(gradient, 0.4).statistic));
  CHECK_FALSE(std::isnan(run.step(gradient, 0.5).statistic));
  CHECK(run.pooled.learning_rate(run.state, {.of_round = 1}) > 0.1);
}

// eta = 0.2 / sqrt(4) = 0.1; half steps -0.05 x 2 and -0.05 x 1.
TEST_CASE("a step with a known V, by hand") {
  Run run({}, {1}, {0.2, 10, 1, 1, 4});
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
  Run run({}, {1}, {0.2, 10, 1, 0.5, 4});
  Scripted gradient{.gradients = {{1}}};
  CHECK(run.step(gradient, 0.5).learning_rate == doctest::Approx(0.075));
  CHECK(run.pooled.learning_rate(run.state, {.of_round = 1}) == doctest::Approx(0.05));
}

// c = 0.5 x 0.2 / sqrt(2) = 0.0707107.
TEST_CASE("the first half step and half of the whole step are limited in length, and count as shortened") {
  const Pooled pooled({.max_step = 0.5});
  Run first(pooled, {1}, {0.2, 10, 1, 1, 4});
  Scripted long_first{.gradients = {{2}, {1}}};
  CHECK(first.step(long_first).statistic == doctest::Approx(std::pow(0.0207107, 2) / 0.01).epsilon(1e-4));
  CHECK(first.weights[0] == doctest::Approx(1 - 0.0707107 - 0.05));
  CHECK(long_first.asked_at[1][0] == doctest::Approx(1 - 0.0707107));

  Run second(pooled, {1, 1}, {0.2, 10, 1, 1, 4});
  Scripted long_second{.gradients = {{0, 1}, {3, 0}}};
  const StepReport report = second.step(long_second);
  // (0.15, 0.05) is 0.158114 long, 2c is 0.141421: scaled by 0.894427.
  CHECK(second.weights[0] == doctest::Approx(1 - 0.1341641));
  CHECK(second.weights[1] == doctest::Approx(1 - 0.0447214));
  CHECK(report.statistic == doctest::Approx(0.8 * (0.0225 + 0.0025) / 0.01).epsilon(1e-4));

  // 0.07 and 0.05 at right angles: 2 |d1| + |d1 - d2| is above 2c, |d1 + d2| is not, and nothing is shortened.
  Run neither(pooled, {1, 1}, {0.2, 10, 1, 1, 4});
  Scripted right_angle{.gradients = {{0, 1.4F}, {1, 0}}};
  neither.step(right_angle);
  CHECK(neither.weights[0] == doctest::Approx(0.95));
  CHECK(neither.weights[1] == doctest::Approx(0.93));
}

TEST_CASE("a step is undone, bit for bit, only if it is not finite, and then has no statistic") {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const bool in_first : {true, false}) {
      Run run({}, {1, 2}, {0.2, 10, 1, 1, 4});
      Scripted gradient{.gradients = {{in_first ? bad : 1, 1}, {in_first ? 1 : bad, 1}}};
      const StepReport report = run.step(gradient);
      CHECK_FALSE(report.accepted);
      CHECK(std::isnan(report.statistic));
      CHECK(values_of(run.weights) == std::vector<float>{1, 2});
    }
  Run run({}, {1}, {0.2, 10, 1, 1, 4});
  Scripted steep{.gradients = {{1e4F}, {-1e4F}}};
  CHECK(run.step(steep).accepted);
  CHECK(run.weights[0] - 1 == doctest::Approx(4 * 0.2 * std::sqrt(2.0)));  // 2c, in the direction of the longer half
}

TEST_CASE("while V is unknown, each client changes its rate by 10 % a step toward its own mean") {
  Run run({}, {1}, {0.2, 10, 1, 1, 0});
  Scripted gradient{.gradients = {{2}, {1}}};  // then 1 and 1: no difference
  StepReport report = run.step(gradient);
  CHECK(report.learning_rate == 0.1);
  CHECK(report.statistic == doctest::Approx(0.25));
  CHECK(run.state.learning_rate == doctest::Approx(0.11));  // 0.2 / sqrt(0.25) = 0.4 is the aim
  report = run.step(gradient, 0.5);
  CHECK(report.learning_rate == doctest::Approx(0.11));
  CHECK(report.statistic == doctest::Approx(0));
  Scripted noisy{.gradients = {{100}, {-100}}};
  run.step(noisy, 0.6);
  CHECK(run.state.learning_rate == doctest::Approx(0.121 * 0.9));
}

// The gradients are noise of standard deviation s in d weights: u is d s^2 / 2 on average, so the squared distance that
// all steps move the weights is sum tol_t^2 = |theta_0|^2 / 2 (docs/adaptive.md).
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
  for (const auto course : {ToleranceSchedule::linear, ToleranceSchedule::constant})
    for (const double norm : {0.5, 20.0}) {
      Pooled pooled({.max_tolerance = {.value = 10}});
      pooled.course = course;
      const auto plan = pooled.begin_pool({.start_norm = norm, .steps_a_round = kSteps, .clients_a_round = 1, .rounds = 1});
      const auto told = plan->tell(1);
      std::vector<float> start(kSize, static_cast<float>(norm / std::sqrt(kSize)));
      Run run(pooled, start, {told[0], told[1], told[2], told[3], kSize * kDeviation * kDeviation / 2});
      for (int step = 0; step < kSteps; ++step) run.step(noise, static_cast<double>(step) / kSteps);
      double squares = 0;
      for (std::size_t i = 0; i < kSize; ++i) squares += std::pow(run.weights[i] - start[i], 2);
      CHECK(squares / (norm * norm) == doctest::Approx(0.5).epsilon(0.1));
    }
}

TEST_CASE("an impossible plan and impossible numbers from the server are refused in one line") {
  const Pooled pooled;
  const auto plan = [&](PoolPlan impossible) { pooled.begin_pool(impossible); };
  const PoolPlan good{.start_norm = 1, .steps_a_round = 1, .clients_a_round = 1, .rounds = 1};
  CHECK_NOTHROW(plan(good));
  for (const double norm : {0.0, -1.0, kInfinity, std::nan("")}) {
    PoolPlan bad = good;
    bad.start_norm = norm;
    CHECK_USAGE_ERROR(plan(bad), "pooled", "norm", number_text(norm));
  }
  PoolPlan bad = good;
  bad.steps_a_round = 0;
  CHECK_USAGE_ERROR(plan(bad), "pooled", "0", "steps");
  for (const std::vector<double>& told : std::vector<std::vector<double>>{{1},
                                                                          {1, 1, 1, 1},
                                                                          {0, 1, 1, 1, 1},
                                                                          {-1, 1, 1, 1, 1},
                                                                          {1, 1, 1, -1, 1},
                                                                          {1, 1, 1, 1, -1},
                                                                          {kInfinity, 1, 1, 1, 1},
                                                                          {1, 1, 1, 1, std::nan("")},
                                                                          {1, 0, 1, 1, 1},
                                                                          {1, 1, 0, 1, 1}}) {
    Pooled::State state;
    CHECK_FAILURE(pooled.hear(state, told), "pooled", "5");
  }
}

TEST_CASE("a prolonged run goes on as one planned for its new length; a shortened one keeps its plan, and so does a horizon") {
  PoolPlan plan{.start_norm = 3, .steps_a_round = 50, .clients_a_round = 4, .rounds = 4};
  Pooled pooled({.max_tolerance = {.value = 10}});
  const auto pool = pooled.begin_pool(plan);
  plan.rounds = 10;
  const auto longer = pooled.begin_pool(plan);
  pool->prolong(3);
  CHECK(pool->tell(4)[3] == 0);
  pool->prolong(10);
  for (const std::uint32_t round : {5, 10, 12})
    for (const int i : {0, 2, 3}) CHECK(pool->tell(round)[i] == doctest::Approx(longer->tell(round)[i]));
  pooled.horizon = 4;
  const auto fixed = pooled.begin_pool(plan);
  fixed->prolong(20);
  CHECK(fixed->tell(6)[2] == doctest::Approx(1.0 / 200));
}

TEST_CASE("the server's side continues after being saved and loaded") {
  const Optimizer optimizer{Pooled{}};
  REQUIRE(optimizer->pools());
  const PoolPlan plan{.start_norm = 3, .steps_a_round = 50, .clients_a_round = 4, .rounds = 4};
  const auto one = optimizer->begin_pool(plan);
  one->take(1, {.statistic = 6, .statistics = 3, .alignment = 1, .pairs = 3});
  std::ostringstream bytes;
  one->save(bytes);
  const auto other = optimizer->begin_pool({.start_norm = 1, .steps_a_round = 1, .clients_a_round = 1, .rounds = 1});
  std::istringstream back(bytes.str());
  other->load(back);
  for (const auto& pool : {one.get(), other.get()}) pool->take(2, {.statistic = 8, .statistics = 2, .alignment = 1, .pairs = 1});
  CHECK(other->tell(3) == one->tell(3));
  Optimizer sgd;
  sgd.choose("sgd");
  CHECK_FALSE(sgd->pools());
  CHECK(sgd->begin_pool(plan) == nullptr);
}

}  // namespace fedstride::test::pooled_test

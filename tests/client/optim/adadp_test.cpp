#include "client/optim/adadp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "tests/client/optim/gradients.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::adadp_test {
namespace {

struct Run {
  Adadp adadp;
  Adadp::State state = {};
  Vector scratch = {};
  Vector weights = {};

  Run(Adadp optimizer, const std::vector<float>& start) : adadp(std::move(optimizer)), weights(vector_of(start)) {
    adadp.start(state, start.size());
  }
  StepReport step(Gradient gradient, Progress progress = {}) { return adadp.step(state, scratch, weights, gradient, progress); }
};

Adadp with(double rate, double tolerance, AdadpPreset preset = AdadpPreset::ours) {
  Adadp adadp;
  adadp.initial_rate = rate;
  adadp.tolerance = {.value = tolerance};
  adadp.preset = preset;
  return adadp;
}

constexpr AdadpPreset kPresets[] = {AdadpPreset::ours, AdadpPreset::paper, AdadpPreset::authors_code};
const Quadratic kBowl{.curvature = {1}, .centre = {0}};

}  // namespace

// f = x^2/2 at 1, eta = 0.2: half step 0.9, full step 0.8, two half steps 0.9 - 0.1 x 0.9 = 0.81.
TEST_CASE("one step on a parabola, by hand") {
  Run run(with(0.2, 0.1), {1});
  const StepReport report = run.step(kBowl);
  CHECK(report.accepted);
  CHECK(report.learning_rate == 0.2);
  CHECK(report.error == doctest::Approx(0.01).epsilon(1e-5));
  CHECK(run.weights[0] == doctest::Approx(0.81));
  CHECK(run.state.learning_rate == doctest::Approx(0.22));  // tolerance / error = 10, limited to 1.1
}

TEST_CASE("the second gradient is taken at the half step, on the next batch") {
  Run run(with(0.2, 1), {0, 1});
  Scripted gradient{.gradients = {{1, 2}, {3, -2}}};
  const StepReport report = run.step(gradient);
  REQUIRE(gradient.calls == 2);
  CHECK(gradient.asked_at[0] == std::vector<float>{0, 1});
  CHECK(gradient.asked_at[1][0] == doctest::Approx(-0.1));
  CHECK(gradient.asked_at[1][1] == doctest::Approx(0.8));
  CHECK(run.weights[0] == doctest::Approx(-0.4));
  CHECK(run.weights[1] == doctest::Approx(1.0));
  // eta/2 (G2 - G1) = (0.2, -0.4)
  CHECK(report.error == doctest::Approx(std::sqrt(0.2)));
}

TEST_CASE("Equation 6 divides by full-step weights above 1, Equation 3 does not") {
  // At (-4, 0.5): full step (-3.2, 0.4), two half steps (-3.24, 0.405).
  const Quadratic bowls{.curvature = {1, 1}, .centre = {0, 0}};
  Run relative(with(0.2, 1), {-4, 0.5});
  CHECK(relative.step(bowls).error == doctest::Approx(std::hypot(0.04 / 3.2, 0.005)).epsilon(1e-5));
  Run plain(with(0.2, 1), {-4, 0.5});
  plain.adadp.error_norm = ErrorNorm::plain;
  CHECK(plain.step(bowls).error == doctest::Approx(std::hypot(0.04, 0.005)).epsilon(1e-5));
}

TEST_CASE("a step with too large an error is undone, bit for bit, and the rate still adapts") {
  // error 0.01 at eta = 0.2: tolerance / error = 0.95
  Run run(with(0.2, 0.0095), {1});
  const StepReport report = run.step(kBowl);
  CHECK_FALSE(report.accepted);
  CHECK(values_of(run.weights) == std::vector<float>{1});
  CHECK(run.state.learning_rate == doctest::Approx(0.19).epsilon(1e-5));
}

TEST_CASE("presets differ in the next iterate and in the root") {
  struct Expected {
    AdadpPreset preset;
    double weight, factor;
  };
  // tolerance / error = 1.05: within the limits
  for (const auto& [preset, weight, factor] : {Expected{AdadpPreset::ours, 0.81, 1.05},
                                               {AdadpPreset::paper, 0.80, 1.05},
                                               {AdadpPreset::authors_code, 0.81, std::sqrt(1.05)}}) {
    CAPTURE(choice_name(preset));
    Run run(with(0.2, 0.0105, preset), {1});
    CHECK(run.step(kBowl).accepted);
    CHECK(run.weights[0] == doctest::Approx(weight));
    CHECK(run.state.learning_rate == doctest::Approx(0.2 * factor).epsilon(1e-5));
  }
}

TEST_CASE("every preset undoes a step above the tolerance when there is no noise") {
  for (const auto preset : kPresets) {
    CAPTURE(choice_name(preset));
    Run run(with(0.2, 0.0095, preset), {1});
    CHECK_FALSE(run.step(kBowl).accepted);
  }
}

TEST_CASE("a setting overrides the preset") {
  Adadp adadp = with(0.2, 0.0095, AdadpPreset::authors_code);
  adadp.next_iterate = NextIterate::full_step;
  adadp.factor = RateFactor::ratio;
  adadp.too_long = TooLong::keep;
  Run run(adadp, {1});
  const StepReport report = run.step(kBowl);
  CHECK(report.accepted);
  CHECK(report.error > adadp.tolerance.value);
  CHECK(run.weights[0] == doctest::Approx(0.8));
  CHECK(run.state.learning_rate == doctest::Approx(0.19).epsilon(1e-5));
}

TEST_CASE("an unknown preset is refused") {
  const SettingInfo& preset = settings_of<AdadpSettings>()[3];
  REQUIRE(preset.name == "preset");
  CHECK_USAGE_ERROR(preset.check("authors"), "preset", "authors", "default", "paper", "authors-code");
}

namespace {

/// Forty weights whose gradients are 0 except for one number in one of the two.
void check_undone(Adadp adadp, float bad, std::size_t position, std::size_t pass) {
  Scripted gradient{.gradients = {std::vector<float>(40, 0.0F), std::vector<float>(40, 0.0F)}};
  gradient.gradients[pass][position] = bad;
  const std::vector<float> start(40, 0.5F);
  Run run(std::move(adadp), start);
  CHECK_FALSE(run.step(gradient).accepted);
  CHECK(values_of(run.weights) == start);
  CHECK(run.state.learning_rate == doctest::Approx(1.8));
}

}  // namespace

TEST_CASE("gradients that are not finite are never accepted and lower the rate by the smallest factor") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto preset : kPresets)
    for (const auto too_long : {TooLong::undo, TooLong::keep, TooLong::clip})
      for (const auto norm : {ErrorNorm::relative, ErrorNorm::plain}) {
        CAPTURE(choice_name(preset));
        CAPTURE(choice_name(too_long));
        CAPTURE(choice_name(norm));
        Adadp adadp = with(2, 0.1, preset);
        adadp.too_long = too_long;
        adadp.error_norm = norm;
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity})
          for (const std::size_t position : {0, 17, 39})  // a lane, the next round of lanes, the remainder
            for (const std::size_t pass : {0, 1}) check_undone(adadp, bad, position, pass);
      }
}

// Equation 6 would divide the error by an infinite weight. At rate 2 the half step 2.6e38 is finite, twice that is not.
TEST_CASE("a full step that overflows is never accepted") {
  for (const auto preset : kPresets) check_undone(with(2, 0.1, preset), -2.6e38F, 17, 0);
}

TEST_CASE("check 3: without noise, halving eta divides the error by four, and twice the error is the Taylor error") {
  constexpr std::size_t kSize = 400;
  Quadratic quadratic{.curvature = std::vector<float>(kSize), .centre = std::vector<float>(kSize, 0.0F)};
  std::vector<float> start(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    quadratic.curvature[i] = 0.1F + 1.9F * static_cast<float>(i) / kSize;
    start[i] = i % 2 == 0 ? 1.0F : -1.5F;
  }
  // || theta(eta) - theta_full || with theta(eta) = exp(-eta a) theta the gradient flow
  const auto local_error = [&](double eta) {
    double sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      const double a = quadratic.curvature[i];
      sum += std::pow((std::exp(-eta * a) - (1 - eta * a)) * start[i], 2);
    }
    return std::sqrt(sum);
  };
  const auto error = [&](double eta) {
    Run run(with(eta, 1), start);
    run.adadp.error_norm = ErrorNorm::plain;
    return run.step(quadratic).error;
  };
  for (const double eta : {0.4, 0.2, 0.1, 0.05}) {
    CAPTURE(eta);
    CHECK(std::abs(error(eta) / error(eta / 2) - 4) < 0.02);
  }
  // The next term of the series is eta a / 3 of the first, a at most 2: in 2 err / true too much by at most that.
  for (const double eta : {0.2, 0.1, 0.05, 0.02}) {
    CAPTURE(eta);
    const double quotient = 2 * error(eta) / local_error(eta);
    CHECK(quotient > 1);
    CHECK(quotient < 1 + 2 * eta / 3);
  }
}

// G1 = 0, G2 = 1: the error is eta/2, so the rate settles at 2 x tolerance.
TEST_CASE("the rate reaches a level ten times away after 22 steps down and 24 up, and stays") {
  struct Case {
    double start;
    int steps;
  };
  for (const auto& [start, expected] : {Case{2.0, 22}, Case{0.02, 24}}) {
    CAPTURE(start);
    Run run(with(start, 0.1), {0});
    int steps = 0;
    while (std::abs(run.state.learning_rate / 0.2 - 1) > 0.02 && steps < 100) {
      Scripted gradient{.gradients = {{0}, {1}}};
      run.step(gradient);
      ++steps;
    }
    CHECK(steps == expected);
    for (int i = 0; i < 5; ++i) {
      Scripted gradient{.gradients = {{0}, {1}}};
      run.step(gradient);
    }
    CHECK(run.state.learning_rate == doctest::Approx(0.2).epsilon(1e-5));
  }
}

// The error is eta/2 as above; with a safety factor the rate settles where safety x tolerance / error is 1.
TEST_CASE("a safety factor lowers the rate at which the steps settle, by ratio and by root") {
  for (const auto& [factor, share] : {std::pair{RateFactor::ratio, 0.7}, std::pair{RateFactor::root, 0.49}}) {
    CAPTURE(choice_name(factor));
    Run run(with(0.2, 0.1), {0});
    run.adadp.error_norm = ErrorNorm::plain;
    run.adadp.safety = 0.7;
    run.adadp.factor = factor;
    for (int i = 0; i < 60; ++i) {
      Scripted gradient{.gradients = {{0}, {1}}};
      run.step(gradient);
    }
    CHECK(run.state.learning_rate == doctest::Approx(share * 0.2).epsilon(1e-5));
  }
}

TEST_CASE("the limits of the factor are settings") {
  Run up(with(0.2, 0.1), {1});
  up.adadp.maximum_factor = 2;
  up.step(kBowl);
  CHECK(up.state.learning_rate == doctest::Approx(0.4));
  Run down(with(0.2, 1e-6), {1});
  down.adadp.minimum_factor = 0.5;
  down.step(kBowl);
  CHECK(down.state.learning_rate == doctest::Approx(0.1));
}

TEST_CASE("a rate that only grows or only falls stays within the range of a float") {
  Run up(with(1, 0.1), {1});
  Scripted zeros{.gradients = {{0}}};
  for (int i = 0; i < 2000; ++i) up.step(zeros);
  CHECK(std::isfinite(static_cast<float>(up.state.learning_rate)));
  CHECK(up.weights[0] == 1.0F);
  Run down(with(1, 0.1), {1});
  Scripted nans{.gradients = {{std::nanf("")}}};
  for (int i = 0; i < 2000; ++i) down.step(nans);
  CHECK(static_cast<float>(down.state.learning_rate) > 0.0F);
}

TEST_CASE("an undone step is swapped with the saved weights instead of copied") {
  Run run(with(0.2, 0.1), std::vector<float>(100, 0.5F));
  const Quadratic bowl{.curvature = std::vector<float>(100, 0.1F), .centre = std::vector<float>(100, 0.0F)};
  REQUIRE(run.step(bowl).accepted);
  const float* weights = run.weights.data();
  const float* kept = run.scratch.data();
  Scripted bad{.gradients = {std::vector<float>(100, std::nanf("")), std::vector<float>(100, 0.0F)}};
  REQUIRE_FALSE(run.step(bad).accepted);
  CHECK(run.weights.data() == kept);
  CHECK(run.scratch.data() == weights);
}

// More weights than a core's cache holds, and stretches at any offset: the same bits as the formula.
TEST_CASE("a step of many weights in unaligned stretches equals that of each weight by itself") {
  constexpr std::size_t kSize = (std::size_t{1} << 18) + 37;
  std::vector<float> start(kSize), first(kSize), second(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    start[i] = 0.01F * static_cast<float>(i % 251) - 1.2F;
    first[i] = 1e-3F * static_cast<float>(i % 7);
    second[i] = 1e-3F * static_cast<float>(i % 5);
  }
  Scripted gradient{.gradients = {first, second, first, second}, .length = 1601};
  Run run(with(0.5, 10), start);
  REQUIRE(run.step(gradient).accepted);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    const Run one = [&] {
      Scripted of_one{.gradients = {{first[i]}, {second[i]}}};
      Run alone(with(0.5, 10), {start[i]});
      alone.step(of_one);
      return alone;
    }();
    wrong += run.weights[i] != one.weights[0] ? 1 : 0;
  }
  CHECK(wrong == 0);
  const std::vector<float> here = values_of(run.weights);
  run.adadp.tolerance.value = 1e-12;
  REQUIRE_FALSE(run.step(gradient).accepted);
  CHECK(values_of(run.weights) == here);
}

// Two weights whose errors are 0.03 and 0.04: their norm is 0.05.
TEST_CASE("a step is tested by the norm of its errors, or by the largest of them") {
  const auto taken = [](LengthTest test, double tolerance, TooLong too_long = TooLong::undo) {
    Adadp adadp = with(0.2, tolerance);
    adadp.error_norm = ErrorNorm::plain;
    adadp.test = test;
    adadp.too_long = too_long;
    Scripted gradient{.gradients = {{0, 0}, {-0.3F, 0.4F}}};
    Run run(adadp, {1, 1});
    const StepReport report = run.step(gradient);
    CHECK(report.error == doctest::Approx(0.05));
    CHECK(run.state.learning_rate == doctest::Approx(0.2 * std::clamp(tolerance / 0.05, 0.9, 1.1)));  // by the norm
    return std::pair(report.accepted, values_of(run.weights));
  };
  CHECK_FALSE(taken(LengthTest::norm, 0.045).first);
  CHECK(taken(LengthTest::element, 0.045).first);
  CHECK_FALSE(taken(LengthTest::element, 0.039).first);
  CHECK(taken(LengthTest::norm, 0.051).first);

  // Shortened in proportion: theta_hat - theta is (0.03, -0.04).
  const auto [stands, by_norm] = taken(LengthTest::norm, 0.04, TooLong::clip);
  CHECK(stands);
  CHECK(by_norm[0] == doctest::Approx(1 + 0.8 * 0.03));
  CHECK(by_norm[1] == doctest::Approx(1 - 0.8 * 0.04));
  const auto [also, by_element] = taken(LengthTest::element, 0.03, TooLong::clip);
  CHECK(also);
  CHECK(by_element[1] == doctest::Approx(1 - 0.03));
}

// M = 4 clients, T = 200 steps, |theta_0| = 3: sqrt(4 / 200) 3 = 0.4243, falling from sqrt(3) times that.
TEST_CASE("tolerance auto follows from the initial weights' norm, the clients and the steps") {
  Adadp adadp = with(0.2, 0.1);
  adadp.tolerance = {.is_auto = true};
  REQUIRE(adadp.is_told());
  const PoolPlan plan{.start_norm = 3, .steps_a_round = 10, .clients_a_round = 4, .rounds = 20};
  auto told = adadp.begin_pool(plan)->tell(1);
  CHECK(told[0] == doctest::Approx(0.42426407));
  CHECK(told[1] == told[0]);

  adadp.course = ToleranceSchedule::linear;
  told = adadp.begin_pool(plan)->tell(1);
  CHECK(told[0] == doctest::Approx(0.73484692));
  CHECK(told[1] == doctest::Approx(0.95 * 0.73484692));
  told = adadp.begin_pool(plan)->tell(20);
  CHECK(told[1] == doctest::Approx(0.73484692 / 200));  // as at the last step
  CHECK(adadp.begin_pool(plan)->tell(21)[0] == doctest::Approx(0.73484692 / 200));

  // Within a round it falls step by step: halfway through the first, 0.975 of the start.
  Run run(adadp, {1});
  adadp.hear(run.state, adadp.begin_pool(plan)->tell(1));
  const double aim = 0.975 * 0.73484692;
  Scripted gradient{.gradients = {{0}, {static_cast<float>(-aim / 0.1 / 1.05)}}};
  REQUIRE(run.step(gradient, {.of_round = 0.5}).accepted);
  CHECK(run.state.learning_rate == doctest::Approx(0.2 * 1.05));

  for (const auto& wrong : {PoolPlan{0, 10, 4, 20}, PoolPlan{NAN, 10, 4, 20}, PoolPlan{3, 0, 4, 20}})
    CHECK_THROWS_AS(adadp.begin_pool(wrong), Error);
  for (const std::vector<double>& wrong : {std::vector<double>{}, {0, 1}, {1, -1}, {1, NAN}, {1, 1, 1}})
    CHECK_THROWS_AS(adadp.hear(run.state, wrong), Error);
}

TEST_CASE("numbers that the server cannot have meant are counted, and the first is named") {
  Adadp adadp;
  adadp.tolerance = {.is_auto = true};
  Run run(adadp, {1});
  const auto answer = [&](const std::vector<double>& told) { adadp.hear(run.state, told); };
  CHECK_FAILURE(answer({}), "'adadp'", "0 numbers", "2");
  CHECK_FAILURE(answer({3}), "'adadp'", "1 number", "3", "2");
  CHECK_FAILURE(answer({0, 7}), "'adadp'", "2 numbers", "0");
  CHECK_FAILURE(answer({5, -7}), "'adadp'", "2 numbers", "5");
  CHECK_NOTHROW(answer({5, 7}));
}

TEST_CASE("tolerance takes a number or the word auto") {
  const SettingInfo& tolerance = settings_of<AdadpSettings>()[1];
  REQUIRE(tolerance.name == "tolerance");
  Adadp adadp;
  tolerance.assign(adadp.object(), std::string("auto"));
  CHECK(adadp.tolerance.is_auto);
  CHECK(value_text(tolerance.get(adadp.object())) == "auto");
  tolerance.assign(adadp.object(), std::int64_t{2});
  CHECK_FALSE(adadp.tolerance.is_auto);
  CHECK(adadp.tolerance.value == 2);
  CHECK_USAGE_ERROR(tolerance.check(std::string("automatic")), "tolerance", "automatic", "auto");
  CHECK_USAGE_ERROR(tolerance.check(0.0), "tolerance", "0", "auto");
}

// The authors' error is a sum over ten copies of every weight: sqrt(10) times ours.
TEST_CASE("with noise the tolerance is 1 as in the paper, or that of the authors' code for one copy of the weights") {
  for (const auto& [preset, expected] : {std::pair{AdadpPreset::ours, 1.0}, {AdadpPreset::authors_code, 1 / std::sqrt(10.0)}}) {
    Adadp adadp = with(0.2, 0.1, preset);
    adadp.gradients_are_noisy([](std::string_view) { return false; });
    CHECK(adadp.tolerance.value == doctest::Approx(expected).epsilon(1e-15));
    adadp.tolerance = {.is_auto = true};
    adadp.gradients_are_noisy([](std::string_view) { return true; });
    CHECK(adadp.tolerance.is_auto);
  }
}

TEST_CASE("the error has a relative accuracy of 1e-6 for many parameters") {
  constexpr std::size_t kSize = 200'000;
  Scripted gradient{.gradients = {std::vector<float>(kSize, 0.0F), std::vector<float>(kSize, 1e-3F)}, .length = 1600};
  Run run(with(0.5, 1), std::vector<float>(kSize, 0.0F));
  CHECK(run.step(gradient).error == doctest::Approx(0.25e-3 * std::sqrt(double{kSize})).epsilon(1e-6));
}

TEST_CASE("with noise a step above the tolerance is kept, except in the preset of the authors' code") {
  for (const auto& [preset, stands] :
       {std::pair{AdadpPreset::ours, true}, {AdadpPreset::paper, true}, {AdadpPreset::authors_code, false}}) {
    CAPTURE(choice_name(preset));
    Adadp adadp = with(1, 1e-3, preset);
    adadp.noisy = true;
    Run run(adadp, {1});
    CHECK(run.step(kBowl).accepted == stands);
    CHECK((run.weights[0] != 1.0F) == stands);
  }
}

// eta_k = eta_K / (1 + 0.1 (k - K)) in epoch k > K; Progress counts completed epochs.
TEST_CASE("after adapt-epochs plain SGD continues at the rate found, with decay") {
  Adadp adadp = with(0.2, 0.1);
  adadp.adapt_epochs = 2;
  Run run(adadp, {1});
  CHECK(adadp.gradients_per_step(Progress{1}) == 2);
  CHECK(adadp.gradients_per_step(Progress{2}) == 1);
  CHECK(adadp.epoch_of_change() == 2);
  run.step(kBowl, Progress{1});
  const double found = run.state.learning_rate;
  const float before = run.weights[0];
  Scripted gradient{.gradients = {{3}}};
  const StepReport report = run.step(gradient, Progress{2});
  CHECK(gradient.calls == 1);
  CHECK(report.learning_rate == doctest::Approx(found / 1.1));
  CHECK(run.weights[0] == doctest::Approx(before - 3 * found / 1.1));
  CHECK(run.state.learning_rate == found);
  CHECK(run.step(gradient, Progress{51}).learning_rate == doctest::Approx(found / 6));
}

}  // namespace fedstride::test::adadp_test

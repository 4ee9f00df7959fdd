#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "client/optim/adadp.hpp"
#include "client/optim/adam.hpp"
#include "client/optim/ema.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/schedule.hpp"
#include "client/optim/sgd.hpp"
#include "client/trainer.hpp"
#include "core/eigen.hpp"
#include "dp/bounds/adaptive.hpp"
#include "tests/client/blobs.hpp"

namespace fedstride::test::private_training_test {
namespace {

const Dataset& data() {
  static const Dataset all = blobs(200);
  return all;
}

const Model& model() {
  static const Model line = Model::parse("dense 5 | tanh | dense classes", data().shape, data().classes);
  return line;
}

LocalTraining private_training(const Optimizer& optimizer, const PrivateRules& rules, std::size_t rows, int epochs = 1) {
  LocalTraining training{.optimizer = optimizer, .epochs = epochs, .batch = rules.batch, .seed = 1};
  training.privacy.emplace();
  training.privacy->plans = {std::make_shared<const PrivatePlan>(rules, optimizer, rows)};
  training.privacy->source = RandomSource(std::uint64_t{11});
  return training;
}

struct Outcome {
  ClientReport report;
  Vector change;
};

Outcome train(const LocalTraining& training, const std::vector<Row>& rows, std::uint64_t allowed = 1000, std::uint32_t round = 1,
              std::span<const double> told = {}) {
  Trainer trainer(model(), data(), training, rows.size());
  const Vector start = model().initial(Initialization::fan_in, 1);
  ClientState state;
  Outcome outcome;
  const std::vector<std::uint64_t> releases{allowed};
  trainer.train({round, start, releases, told}, 0, rows, state, serially, {}, [&](const ClientUpdate& update) {
    outcome.report = update.report;
    outcome.change = Vector(update.change);
  });
  return outcome;
}

std::uint64_t released(const ClientReport& report) {
  std::uint64_t count = 0;
  for (const auto& run : report.releases) count += run.count;
  return count;
}

constexpr double kTiny = 1e-6;

}  // namespace

TEST_CASE("the report charges what the plan reserves: every gradient of every optimizer, once") {
  for (const Optimizer& optimizer :
       {Optimizer(Sgd{}), Optimizer(Adadp{}), Optimizer(HeavyBall{}), Optimizer(Ema{}), Optimizer(Adam{})}) {
    CAPTURE(optimizer.name());
    const LocalTraining training = private_training(optimizer, {.batch = 20, .noise = {.noise_multiplier = 2}}, 120, 3);
    const Outcome outcome = train(training, first_rows(120));
    const PrivatePlan& plan = *training.privacy->plans[0];
    CHECK(released(outcome.report) == plan.releases_before(3));
    CHECK(released(outcome.report) == 18);
    CHECK(outcome.report.steps == (optimizer.name() == Adadp::kName ? 9 : 18));
    REQUIRE(outcome.report.releases.size() == 1);
    CHECK(outcome.report.releases[0].noise_multiplier == 2);
    CHECK(eigen(outcome.change).allFinite());
  }
}

/// Notes the noise that it is told of.
struct Noted final : OptimizerBase<Noted, Schedule> {
  static constexpr std::string_view kName = "noted", kSummary = "of these tests";
  std::vector<double>* noise = nullptr;

  int gradients_per_step(Progress) const override { return 1; }
  double learning_rate(const NoState&, Progress) const override { return 1; }
  StepReport step(NoState&, Vector&, Vector& weights, Gradient gradient, Progress progress) const override {
    noise->push_back(progress.noise);
    gradient(weights.data(), [](std::size_t, std::span<const float>) { return 0.0; });
    return {.learning_rate = 1};
  }
};

TEST_CASE("an optimizer is told the noise of its gradient: C_t z_t over the expected lot, none without privacy") {
  std::vector<double> told;
  Noted noted;
  noted.noise = &told;
  const auto noise_of = [&](const PrivateRules& rules, std::uint32_t round = 1) {
    told.clear();
    train(private_training(noted, rules, 100), first_rows(100), 1000, round);
    return told;
  };
  for (const double noise : noise_of({.batch = 50, .noise = {.clip = 3, .noise_multiplier = 2}}))
    CHECK(noise == doctest::Approx(0.12).epsilon(1e-4));  // slightly more, for rounding
  CHECK(told.size() == 2);
  const PrivateRules falling{.batch = 50,
                             .noise = {.clip = 3, .noise_multiplier = 2, .noise_schedule = NoiseSchedule::dynamic, .gamma = 0.5},
                             .target_epochs = 2};
  const PrivatePlan plan(falling, noted, 100);
  for (const std::uint32_t round : {1, 2}) {
    const std::vector<double> noise = noise_of(falling, round);
    REQUIRE(noise.size() == 2);
    for (std::size_t step = 0; step < 2; ++step) {
      const NoiseStep planned = plan.noise().at(2 * (round - 1) + step);
      CHECK(noise[step] == doctest::Approx(planned.clip * planned.noise_multiplier / 50));
    }
  }
  // The round's bound, and the multiplier that a count beside the sum leaves: lots of 50 at z = 2 have a count of deviation 2.5.
  told.clear();
  const PrivateRules counted{.batch = 50, .noise = {.clip = 3, .noise_multiplier = 2}, .clip_rule = AdaptiveBound{}};
  train(private_training(noted, counted, 100), first_rows(100), 1000, 1, std::vector<double>{0.5});
  REQUIRE(told.size() == 2);
  for (const double noise : told) CHECK(noise == doctest::Approx(0.5 * 2 / std::sqrt(1 - 0.16) / 50));
  told.clear();
  train({.optimizer = noted, .batch = 50, .seed = 1}, first_rows(100));
  CHECK(told == std::vector<double>(2, 0));
}

TEST_CASE("training ends before the step that would release more than is allowed") {
  const PrivateRules rules{.batch = 20, .noise = {.noise_multiplier = 2}};
  const auto sgd = train(private_training(Sgd{}, rules, 120, 3), first_rows(120), 7).report;
  CHECK(released(sgd) == 7);
  CHECK(sgd.steps == 7);
  const auto adadp = train(private_training(Adadp{}, rules, 120, 3), first_rows(120), 7).report;
  CHECK(released(adadp) == 6);
  CHECK(adadp.steps == 3);
}

TEST_CASE("Poisson lots vary in size around the expected one, and empty ones are still released") {
  const LocalTraining training = private_training(Sgd{}, {.batch = 1, .noise = {.noise_multiplier = 1}}, 60, 20);
  const auto report = train(training, first_rows(60), 100000).report;
  CHECK(report.steps == 1200);
  CHECK(released(report) == 1200);
  // Expected 1,200 examples, standard deviation 34; (59/60)^60 = 0.365 of the lots empty, 438 of 1,200, deviation 17.
  CHECK(std::abs(static_cast<double>(report.examples) - 1200) < 5 * 34.4);
  CHECK(std::abs(static_cast<double>(report.empty_lots) - 437.8) < 5 * 16.7);
}

TEST_CASE("lots of fixed size have that size, and shuffled ones use every row at most once an epoch") {
  for (const auto sampling : {Sampling::without_replacement, Sampling::shuffle}) {
    const LocalTraining training =
        private_training(Sgd{}, {.sampling = sampling, .batch = 25, .noise = {.noise_multiplier = 1}}, 110, 1);
    const auto report = train(training, first_rows(110)).report;
    CHECK(report.steps == (sampling == Sampling::shuffle ? 4 : 5));
    CHECK(report.examples == 25 * report.steps);
  }
}

TEST_CASE("a client with fewer rows than a step's shuffled lots reads gets smaller lots") {
  for (const auto& [rows, examples] : {std::pair<std::size_t, std::uint64_t>{60, 60}, {30, 30}, {3, 2}}) {
    const LocalTraining training =
        private_training(Adadp{}, {.sampling = Sampling::shuffle, .batch = 40, .noise = {.noise_multiplier = 1}}, rows);
    CHECK(train(training, first_rows(rows)).report.examples == examples);
  }
}

// Without noise and clipping a full lot is the full batch.
TEST_CASE("a lot of all rows with negligible noise moves the model as plain SGD does") {
  const auto exact =
      train(private_training(Sgd{}, {.batch = 60, .noise = {.clip = 10, .noise_multiplier = kTiny}}, 60), first_rows(60));
  LocalTraining plain{.optimizer = Sgd{}, .batch = 60, .seed = 1};
  const auto reference = train(plain, first_rows(60));
  CHECK((eigen(exact.change) - eigen(reference.change)).cwiseAbs().maxCoeff() < 2e-6F);
}

TEST_CASE("a lot larger than what is computed at once is accumulated") {
  const std::vector<Row> few = first_rows(100);
  std::vector<Row> many;
  for (int i = 0; i < 6; ++i) many.insert(many.end(), few.begin(), few.end());  // 600 rows: three parts
  const PrivateRules rules{.batch = 600, .noise = {.clip = 10, .noise_multiplier = kTiny}};
  const auto large = train(private_training(Sgd{}, rules, 600), many);
  const auto small = train(private_training(Sgd{}, {.batch = 100, .noise = rules.noise}, 100), few);
  CHECK(large.report.examples == 600);
  CHECK((eigen(large.change) - eigen(small.change)).cwiseAbs().maxCoeff() < 2e-6F);
}

TEST_CASE("the mean norm before clipping and the share clipped follow the clip bound") {
  const auto report = [](double clip) {
    const PrivateRules rules{.batch = 60, .noise = {.clip = clip, .noise_multiplier = kTiny}};
    Sgd still;
    still.initial_rate = 1e-9;
    return train(private_training(still, rules, 60), first_rows(60)).report;
  };
  const ClientReport loose = report(1e3);
  CHECK(loose.clipped_share == 0);
  CHECK(loose.gradient_norm > 0);
  const ClientReport strict = report(1e-6);
  CHECK(strict.clipped_share == 1);
  CHECK(strict.gradient_norm == doctest::Approx(loose.gradient_norm).epsilon(1e-4));
  CHECK(report(loose.gradient_norm).clipped_share > 0);
  CHECK(report(loose.gradient_norm).clipped_share < 1);
}

TEST_CASE("a row whose features are not finite changes nothing but its own count") {
  Dataset broken = blobs(200);
  broken.features[4 * 17] = std::numeric_limits<float>::quiet_NaN();
  const LocalTraining training = private_training(Sgd{}, {.batch = 60, .noise = {.noise_multiplier = 1}}, 60);
  std::vector<Row> without = first_rows(60);
  without.erase(without.begin() + 17);
  without.push_back(17);
  const auto run = [&](const Dataset& set, const std::vector<Row>& rows) {
    Trainer trainer(model(), set, training, rows.size());
    const Vector start = model().initial(Initialization::fan_in, 1);
    ClientState state;
    Outcome outcome;
    const std::vector<std::uint64_t> releases{10};
    trainer.train({1, start, releases}, 0, rows, state, serially, {}, [&](const ClientUpdate& update) {
      outcome.report = update.report;
      outcome.change = Vector(update.change);
    });
    return outcome;
  };
  const auto outcome = run(broken, first_rows(60));
  CHECK(outcome.report.nonfinite == 1);
  CHECK(std::isfinite(outcome.report.gradient_norm));
  CHECK(eigen(outcome.change).allFinite());
}

TEST_CASE("rounds have different noise; the same round has the same") {
  const LocalTraining training = private_training(Sgd{}, {.batch = 60, .noise = {.noise_multiplier = 5}}, 60);
  const auto first = train(training, first_rows(60), 10, 1).change;
  CHECK(train(training, first_rows(60), 10, 1).change == first);
  CHECK(train(training, first_rows(60), 10, 2).change != first);
}

}  // namespace fedstride::test::private_training_test

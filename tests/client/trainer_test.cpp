#include "client/trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "client/objectives/dynamic.hpp"
#include "client/objectives/proximal.hpp"
#include "client/optim/adadp.hpp"
#include "client/optim/adam.hpp"
#include "client/optim/delta_sgd.hpp"
#include "client/optim/fed_sps.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/schedule_free.hpp"
#include "client/optim/sgd.hpp"
#include "core/exact_sum.hpp"
#include "core/random.hpp"
#include "tests/client/blobs.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::trainer_test {
namespace {

struct Outcome {
  ClientReport report;
  Vector change;
};

const Dataset& tried_data() {
  static const Dataset data = blobs(200);
  return data;
}
const Model& tried_model() {
  static const Model model = Model::parse("dense 5 | tanh | dense classes", tried_data().shape, tried_data().classes);
  return model;
}
Vector start_weights() { return tried_model().initial(Initialization::fan_in, 1); }

Outcome train(const LocalTraining& training, std::size_t rows, ClientState& state, std::uint32_t round = 1) {
  const Dataset& data = tried_data();
  const Model& model = tried_model();
  Trainer trainer(model, data, training, rows);
  const Vector start = start_weights();
  const Vector beside(training.objective->hears() ? start.size() : 0);
  Outcome outcome;
  trainer.train({.round = round, .model = start, .beside = view(beside)}, 2, first_rows(rows), state, serially, {},
                [&](const ClientUpdate& update) {
                  outcome.report = update.report;
                  outcome.change = Vector(update.change);
                });
  return outcome;
}

Outcome train(const LocalTraining& training, std::size_t rows) {
  ClientState state;
  return train(training, rows, state);
}

}  // namespace

TEST_CASE("SGD sees every row once per epoch, with a smaller last batch") {
  const auto report = train({.optimizer = Sgd{}, .epochs = 3, .batch = 10}, 47).report;
  CHECK(report.examples == 3 * 47);
  CHECK(report.steps == 3 * 5);
  CHECK(report.rejected == 0);
  CHECK(report.rows == 47);
  CHECK(report.client == 2);
}

TEST_CASE("ADADP takes floor(n / 2B) steps per epoch and skips the rest") {
  const auto report = train({.optimizer = Adadp{}, .epochs = 2, .batch = 10}, 59).report;
  CHECK(report.steps == 2 * 2);
  CHECK(report.examples == 2 * 40);
}

TEST_CASE("a client with fewer rows than a step reads gets smaller batches") {
  CHECK(train({.optimizer = Adadp{}, .batch = 10}, 7).report.examples == 6);
  CHECK(train({.optimizer = Adadp{}, .batch = 10}, 7).report.steps == 1);
  CHECK(train({.optimizer = Adadp{}, .batch = 10}, 1).report.steps == 0);
  CHECK(train({.optimizer = Sgd{}, .batch = 10}, 1).report.steps == 1);
}

TEST_CASE("steps that are set pass over the rows again and again, each time in another order") {
  const auto set = [](int steps) { return LocalTraining{.optimizer = Sgd{}, .steps = steps, .batch = 10}; };
  const Outcome thrice = train(set(15), 47);
  CHECK(thrice.report.steps == 15);
  CHECK(thrice.report.examples == 3 * 47);
  CHECK(thrice.change == train({.optimizer = Sgd{}, .epochs = 3, .batch = 10}, 47).change);
  CHECK(train(set(3), 47).report.examples == 30);
  CHECK(train(set(6), 47).report.examples == 57);
  const LocalTraining adadp{.optimizer = Adadp{}, .steps = 4, .batch = 10};  // batches of 10, 10, 5 and again, two a step
  CHECK(train(adadp, 25).report.examples == 70);
  for (const LocalTraining& training : {set(3), set(6), set(15), adadp}) {
    CHECK(planned_examples(training, 2, 25, 3) == static_cast<double>(train(training, 25).report.examples));
    CHECK(steps_of(training, 2, 25, 3) == 3 * training.steps);
    CHECK(passes_of_round(training, 25) * 25 >= train(training, 25).report.examples);
  }
}

// 25 rows in batches of 10: floor(25 / 20) = 1 step an epoch while ADADP adapts, in its first two epochs, and ceil(25 / 10) = 3
// later.
TEST_CASE("the steps planned for a run are those that its rounds take") {
  Adadp adadp;
  adadp.adapt_epochs = 2;
  const LocalTraining one{.optimizer = adadp, .epochs = 1, .batch = 10}, two{.optimizer = adadp, .epochs = 2, .batch = 10};
  const double expected[] = {1, 2, 5, 8};
  ClientState state;
  double taken = 0;
  for (std::uint32_t rounds = 1; rounds <= 4; ++rounds) {
    CHECK(steps_of(one, 2, 25, rounds) == expected[rounds - 1]);
    taken += static_cast<double>(train(one, 25, state, rounds).report.steps);
    CHECK(taken == expected[rounds - 1]);
  }
  CHECK(steps_of(two, 2, 25, 2) == 8);
  CHECK(steps_of({.optimizer = Adadp{}, .batch = 10}, 2, 25, 4) == 4);
  CHECK(steps_of({.optimizer = Sgd{}, .batch = 10}, 2, 25, 4) == 12);
}

TEST_CASE("under example-level privacy the steps planned are those of the client's plan") {
  for (const auto& [optimizer, steps] : {std::pair{Optimizer(Sgd{}), 18}, {Optimizer(Adadp{}), 9}}) {
    LocalTraining training{.optimizer = optimizer, .epochs = 3};
    training.privacy.emplace();
    training.privacy->plans = {nullptr, std::make_shared<const PrivatePlan>(PrivateRules{.batch = 20}, optimizer, 120)};
    CHECK(steps_of(training, 1, 120, 1) == steps);
    CHECK(steps_of(training, 1, 120, 2) == 2 * steps);
  }
}

// theta_k+1 = theta_k - 0.1 g(batch k, masks of step k).
TEST_CASE("the masks of a step are drawn at its number within the round") {
  constexpr std::size_t kBatch = 5, kRows = 15;
  constexpr std::uint64_t kSeed = 3;
  const Dataset& data = tried_data();
  const Model model = Model::parse("dense 8 | tanh | dropout 0.5 | dense classes", data.shape, data.classes);
  Sgd sgd;
  sgd.initial_rate = 0.1;
  const LocalTraining training{.optimizer = sgd, .batch = kBatch, .seed = kSeed};
  const Vector start = model.initial(Initialization::fan_in, 1);
  Trainer trainer(model, data, training, kRows);
  ClientState state;
  Vector change;
  trainer.train({.round = 4, .model = start}, 2, first_rows(kRows), state, serially, {},
                [&](const ClientUpdate& update) { change = Vector(update.change); });

  std::vector<Row> order = first_rows(kRows);
  RandomStream random(kSeed, {Purpose::data_order, 4, 2, 0});
  shuffle(std::span(order), random);
  Network network(model, kBatch);
  AnswerRoom answers;
  Vector weights = start;
  for (std::uint32_t step = 0; step < kRows / kBatch; ++step) {
    const std::span<const Row> rows = std::span(order).subspan(kBatch * step, kBatch);
    const BatchAddress address{kSeed, 4, 2, step};
    fill_batch(data, rows, Augmentation::none, address, network.inputs(kBatch));
    Vector gradient(model.size());
    network.gradient(weights.data(), {answers.read(data, rows).labels, rows, address},
                     [&](std::size_t offset, std::span<const float> stretch) {
                       std::ranges::copy(stretch, gradient.begin() + static_cast<std::ptrdiff_t>(offset));
                       return 0.0;
                     });
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1F * gradient[i];
  }
  for (std::size_t i = 0; i < weights.size(); ++i) REQUIRE(change[i] == doctest::Approx(weights[i] - start[i]).epsilon(1e-4));
}

// eta_0 = 0.2; eta_1 = min(|dx| / |dg|, sqrt(1.1) eta_0), |dg| between the gradients of batch 1 at both iterates, with one mask.
TEST_CASE("Delta-SGD reads a batch twice, with the same masks, and counts both gradients") {
  constexpr std::size_t kBatch = 5, kRows = 10;
  constexpr std::uint64_t kSeed = 3;
  const Dataset& data = tried_data();
  const Model model = Model::parse("dense 8 | tanh | dropout 0.5 | dense classes", data.shape, data.classes);
  const LocalTraining training{.optimizer = DeltaSgd{}, .batch = kBatch, .seed = kSeed};
  const Vector start = model.initial(Initialization::fan_in, 1);
  Trainer trainer(model, data, training, kRows);
  ClientState state;
  Vector change;
  ClientReport report;
  trainer.train({.round = 4, .model = start}, 2, first_rows(kRows), state, serially, {}, [&](const ClientUpdate& update) {
    change = Vector(update.change);
    report = update.report;
  });
  CHECK(report.steps == 2);
  CHECK(report.examples == 2 * kRows);

  std::vector<Row> order = first_rows(kRows);
  RandomStream random(kSeed, {Purpose::data_order, 4, 2, 0});
  shuffle(std::span(order), random);
  Network network(model, kBatch);
  AnswerRoom answers;
  const auto gradient_at = [&](const Vector& weights, std::uint32_t step) {
    const std::span<const Row> rows = std::span(order).subspan(kBatch * step, kBatch);
    const BatchAddress address{kSeed, 4, 2, step};
    fill_batch(data, rows, Augmentation::none, address, network.inputs(kBatch));
    Vector gradient(model.size());
    network.gradient(weights.data(), {answers.read(data, rows).labels, rows, address},
                     [&](std::size_t offset, std::span<const float> stretch) {
                       std::ranges::copy(stretch, gradient.begin() + static_cast<std::ptrdiff_t>(offset));
                       return 0.0;
                     });
    return gradient;
  };
  Vector weights = start;
  const Vector first = gradient_at(start, 0);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.2F * first[i];
  const Vector before = gradient_at(start, 1), now = gradient_at(weights, 1);
  double moved = 0, changed = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    moved += std::pow(0.2 * first[i], 2);
    changed += std::pow(now[i] - before[i], 2);
  }
  const double rate = std::min(std::sqrt(moved / changed), std::sqrt(1.1) * 0.2);
  CHECK(report.learning_rate == doctest::Approx(rate).epsilon(1e-4));
  for (std::size_t i = 0; i < weights.size(); ++i)
    REQUIRE(change[i] == doctest::Approx(weights[i] - static_cast<float>(rate) * now[i] - start[i]).epsilon(1e-4));
}

TEST_CASE("Delta-SGD takes SGD's steps, smaller last batch included") {
  const LocalTraining training{.optimizer = DeltaSgd{}, .epochs = 3, .batch = 10};
  const auto report = train(training, 47).report;
  CHECK(report.steps == 3 * 5);
  CHECK(report.examples == 2 * 3 * 47);
  CHECK(steps_of(training, 2, 47, 2) == 6 * 5);
}

// One step on all rows: rate = loss / (c |g|^2) and change = -rate g, so c |change|^2 = rate x loss.
TEST_CASE("FedSPS receives the mean loss of its batch") {
  const Outcome outcome = train({.optimizer = FedSps({.max_rate = 1e6}), .batch = 47}, 47);
  double square = 0;
  for (const float value : outcome.change) square += std::pow(value, 2);
  CHECK(outcome.report.steps == 1);
  CHECK(0.5 * square == doctest::Approx(outcome.report.learning_rate * outcome.report.loss).epsilon(1e-5));
}

TEST_CASE("the loss that schedule-free SGD reports is that where it computes gradients") {
  CHECK(train({.optimizer = ScheduleFree{}, .batch = 47}, 47).report.loss ==
        train({.optimizer = Sgd{}, .batch = 47}, 47).report.loss);
}

TEST_CASE("the order of rows depends only on round and seed") {
  const LocalTraining training{.optimizer = Sgd{}, .batch = 5, .keep_state = false, .seed = 1};
  ClientState state;
  const Vector first = train(training, 60, state, 1).change;
  CHECK(train(training, 60, state, 1).change == first);
  CHECK(train(training, 60, state, 2).change != first);
  LocalTraining other = training;
  other.seed = 2;
  CHECK(train(other, 60, state, 1).change != first);
}

TEST_CASE("ADADP's rate is kept between rounds if states are kept, and starts afresh if not") {
  const Adadp adadp;
  const LocalTraining keeping{.optimizer = adadp, .batch = 5, .keep_state = true};
  ClientState kept;
  const double after_one = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, kept, 1).report.learning_rate;
  CHECK(after_one != doctest::Approx(0.1));
  ClientState copy;
  copy.load(keeping, kept.save(keeping));
  const Outcome second = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, kept, 2);
  const Outcome second_of_copy = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, copy, 2);
  CHECK(second.change == second_of_copy.change);
  CHECK(second.report.learning_rate == second_of_copy.report.learning_rate);
  ClientState reset;
  train({.optimizer = adadp, .batch = 5, .keep_state = false}, 100, reset, 1);
  const Outcome restarted = train({.optimizer = adadp, .batch = 5, .keep_state = false}, 100, reset, 2);
  CHECK(restarted.change != second.change);
}

TEST_CASE("every optimizer: a saved and loaded client continues with the same bits") {
  for (const auto& name : OptimizerPart::family().names()) {
    CAPTURE(name);
    Optimizer optimizer;
    optimizer.choose(name);
    const LocalTraining training{.optimizer = optimizer, .batch = 5, .keep_state = true};
    ClientState one;
    train(training, 50, one, 1);
    ClientState two;
    two.load(training, one.save(training));
    CHECK(train(training, 50, one, 2).change == train(training, 50, two, 2).change);
  }
}

TEST_CASE("every local objective: a saved and loaded client continues with the same bits, and what it keeps matters") {
  for (const auto& name : LocalObjectivePart::family().names()) {
    CAPTURE(name);
    LocalTraining training{.optimizer = Sgd{}, .batch = 5, .keep_state = false};
    training.objective.choose(name);
    ClientState one;
    train(training, 50, one, 1);
    ClientState two;
    two.load(training, one.save(training));
    ClientState fresh;
    const Vector next = train(training, 50, one, 2).change;
    CHECK(next == train(training, 50, two, 2).change);
    CHECK((next == train(training, 50, fresh, 2).change) != training.objective->keeps());
  }
}

TEST_CASE("a pull holds the weights back, and weight decay is part of the gradient") {
  const auto with = [](double mu, double decay, std::vector<bool> frozen = {}) {
    Sgd sgd;
    sgd.initial_rate = 0.1;
    sgd.weight_decay = decay;
    Proximal pulled;
    pulled.mu = mu;
    ClientState state;
    return train({.optimizer = sgd, .objective = pulled, .batch = 50, .keep_state = false, .frozen = std::move(frozen)}, 50,
                 state, 1);
  };
  const Vector plain = with(0, 0).change;
  CHECK(with(5, 0).change == plain);  // one step from the model received: nothing to pull yet
  const Vector decayed = with(0, 0.5).change;
  const Vector start = start_weights();
  for (std::size_t i = 0; i < plain.size(); ++i)
    REQUIRE(decayed[i] == doctest::Approx(plain[i] - 0.1 * 0.5 * start[i]).epsilon(1e-4));
  CHECK(is_zero(view(with(0, 0.5, tried_model().frozen("fc1,fc2")).change)));  // frozen weights do not shrink
  const auto long_round = [](double mu) {
    Sgd sgd;
    sgd.initial_rate = 0.1;
    Proximal pulled;
    pulled.mu = mu;
    ClientState state;
    return l2_norm(
        view(train({.optimizer = sgd, .objective = pulled, .epochs = 5, .batch = 5, .keep_state = false}, 50, state, 1).change));
  };
  CHECK(long_round(5) < 0.7 * long_round(0));
}

TEST_CASE("a client that diverged starts afresh in its next round") {
  HeavyBall wild;
  wild.initial_rate = 1e6;
  wild.momentum = 0.99;
  const LocalTraining training{.optimizer = wild, .epochs = 30, .batch = 1, .keep_state = true};
  ClientState state;
  const Outcome outcome = train(training, 100, state, 1);
  REQUIRE_FALSE(ExactSum::admits(view(std::as_const(outcome.change))));
  CHECK(state.save(training) == ClientState().save(training));
}

TEST_CASE("a damaged state is refused") {
  ClientState state;
  CHECK_THROWS_AS(state.load({.optimizer = Adadp{}}, "\x01\x02"), Error);
  CHECK_THROWS_AS(state.load({.optimizer = Adam{}}, ""), Error);
  CHECK_THROWS_AS(state.load({.optimizer = Adam{}, .objective = Dynamic{}}, std::string(1, '\0')), Error);
}

TEST_CASE("a stop in the middle of an epoch interrupts training") {
  const Dataset data = blobs(100);
  const Model model = Model::parse("dense classes", data.shape, data.classes);
  const LocalTraining training{.optimizer = Sgd{}, .batch = 10};
  Trainer trainer(model, data, training, 100);
  const Vector start = model.initial(Initialization::fan_in, 1);
  const std::atomic<bool> stop{true};
  ClientState state;
  CHECK_THROWS_AS(trainer.train({1, start}, 0, first_rows(100), state, serially, {nullptr, &stop}, [](const ClientUpdate&) {}),
                  Interrupted);
}

}  // namespace fedstride::test::trainer_test

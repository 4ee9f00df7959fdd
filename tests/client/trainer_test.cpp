#include "client/trainer.hpp"

#include <doctest/doctest.h>

#include "core/exact_sum.hpp"
#include "optim/adadp.hpp"
#include "optim/adam.hpp"
#include "optim/heavy_ball.hpp"
#include "optim/optimizer_of.hpp"
#include "optim/sgd.hpp"
#include "tests/client/blobs.hpp"

namespace fedstride::test::trainer_test {
namespace {

struct Outcome {
  ClientReport report;
  Vector change;
};

Outcome train(const LocalTraining& training, std::size_t rows, ClientState& state, std::uint32_t round = 1) {
  static const Dataset data = blobs(200);
  static const Model model = Model::parse("dense 5 | tanh | dense classes", data.shape, data.classes);
  Trainer trainer(model, data, training, rows);
  const Vector start = model.initial(Initialisation::fan_in, 1);
  Outcome outcome;
  trainer.train({round, start}, 2, first_rows(rows), state, serially, {}, [&](const ClientUpdate& update) {
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

TEST_CASE("SGD sees every row once an epoch, the last batch as small as it is") {
  const auto report = train({.optimizer = Sgd{}, .epochs = 3, .batch = 10}, 47).report;
  CHECK(report.examples == 3 * 47);
  CHECK(report.steps == 3 * 5);
  CHECK(report.rejected == 0);
  CHECK(report.rows == 47);
  CHECK(report.client == 2);
}

TEST_CASE("ADADP takes floor(n / 2B) steps an epoch and leaves the rest") {
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

TEST_CASE("the rows' order depends on round and seed, and on nothing else") {
  const LocalTraining training{.optimizer = Sgd{}, .batch = 5, .keep_state = false, .seed = 1};
  ClientState state;
  const Vector first = train(training, 60, state, 1).change;
  CHECK(train(training, 60, state, 1).change == first);
  CHECK(train(training, 60, state, 2).change != first);
  LocalTraining other = training;
  other.seed = 2;
  CHECK(train(other, 60, state, 1).change != first);
}

TEST_CASE("ADADP's rate is carried from round to round if kept, and starts anew if not") {
  const Adadp adadp;
  ClientState kept;
  const double after_one = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, kept, 1).report.learning_rate;
  CHECK(after_one != doctest::Approx(0.1));
  ClientState copy;
  copy.load(adadp, kept.save(adadp));
  const Outcome second = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, kept, 2);
  const Outcome second_of_copy = train({.optimizer = adadp, .batch = 5, .keep_state = true}, 100, copy, 2);
  CHECK(second.change == second_of_copy.change);
  CHECK(second.report.learning_rate == second_of_copy.report.learning_rate);
  ClientState reset;
  train({.optimizer = adadp, .batch = 5, .keep_state = false}, 100, reset, 1);
  const Outcome restarted = train({.optimizer = adadp, .batch = 5, .keep_state = false}, 100, reset, 2);
  CHECK(restarted.change != second.change);
}

TEST_CASE("every optimiser: a saved, loaded client goes on with the same bits") {
  for (const auto& name : OptimizerPart::family().names()) {
    CAPTURE(name);
    Optimizer optimizer;
    optimizer.choose(name);
    const LocalTraining training{.optimizer = optimizer, .batch = 5, .keep_state = true};
    ClientState one;
    train(training, 50, one, 1);
    ClientState two;
    two.load(training.optimizer, one.save(training.optimizer));
    CHECK(train(training, 50, one, 2).change == train(training, 50, two, 2).change);
  }
}

TEST_CASE("a client that diverged starts afresh in its next round") {
  HeavyBall wild;
  wild.initial_rate = 1e6;
  wild.momentum = 0.99;
  const LocalTraining training{.optimizer = wild, .epochs = 30, .batch = 1, .keep_state = true};
  ClientState state;
  const Outcome outcome = train(training, 100, state, 1);
  REQUIRE_FALSE(ExactSum::admits(view(std::as_const(outcome.change))));
  CHECK(state.save(training.optimizer) == ClientState().save(training.optimizer));
}

TEST_CASE("a damaged state is refused") {
  ClientState state;
  CHECK_THROWS_AS(state.load(Optimizer{Adadp{}}, "\x01\x02"), Error);
  CHECK_THROWS_AS(state.load(Optimizer{Adam{}}, ""), Error);
}

TEST_CASE("a stop in the middle of an epoch interrupts training") {
  const Dataset data = blobs(100);
  const Model model = Model::parse("dense classes", data.shape, data.classes);
  const LocalTraining training{.optimizer = Sgd{}, .batch = 10};
  Trainer trainer(model, data, training, 100);
  const Vector start = model.initial(Initialisation::fan_in, 1);
  const std::atomic<bool> stop{true};
  ClientState state;
  CHECK_THROWS_AS(trainer.train({1, start}, 0, first_rows(100), state, serially, {nullptr, &stop}, [](const ClientUpdate&) {}),
                  Interrupted);
}

}  // namespace fedstride::test::trainer_test

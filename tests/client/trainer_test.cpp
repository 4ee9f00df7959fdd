#include "client/trainer.hpp"

#include <doctest/doctest.h>

#include "core/exact_sum.hpp"
#include "objectives/dynamic.hpp"
#include "objectives/proximal.hpp"
#include "optim/adadp.hpp"
#include "optim/adam.hpp"
#include "optim/heavy_ball.hpp"
#include "optim/optimizer_of.hpp"
#include "optim/sgd.hpp"
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
Vector start_weights() { return tried_model().initial(Initialisation::fan_in, 1); }

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

TEST_CASE("every optimiser: a saved, loaded client goes on with the same bits") {
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

TEST_CASE("every local objective: a saved, loaded client goes on with the same bits, and what it keeps matters") {
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

TEST_CASE("a pull holds the weights back, and weight decay is a part of the gradient") {
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
  const Vector start = model.initial(Initialisation::fan_in, 1);
  const std::atomic<bool> stop{true};
  ClientState state;
  CHECK_THROWS_AS(trainer.train({1, start}, 0, first_rows(100), state, serially, {nullptr, &stop}, [](const ClientUpdate&) {}),
                  Interrupted);
}

}  // namespace fedstride::test::trainer_test

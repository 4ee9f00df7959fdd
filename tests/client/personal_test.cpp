// Personal models at a client, for every registered kind.
#include <doctest/doctest.h>

#include "client/optim/heavy_ball.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "client/personal/ditto.hpp"
#include "client/personal/fine_tune.hpp"
#include "client/personal/local_layers.hpp"
#include "client/trained_ranges.hpp"
#include "client/trainer.hpp"
#include "tests/client/blobs.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::personal_test {
namespace {

constexpr std::size_t kRows = 60;

const Dataset& tried_data() {
  static const Dataset data = blobs(200);
  return data;
}
const Model& tried_model() {
  static const Model model = Model::parse("dense 5 | tanh | dense classes", tried_data().shape, tried_data().classes);
  return model;
}
Vector weights_of(std::uint64_t seed) { return tried_model().initial(Initialization::fan_in, seed); }
const std::vector<Row>& test_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (Row row = 150; row < 200; ++row) all.push_back(row);
    return all;
  }();
  return rows;
}

LocalTraining training_with(const Personal& personal, const Optimizer& optimizer = Sgd{}) {
  LocalTraining training{.optimizer = optimizer, .epochs = 2, .batch = 5, .keep_state = false, .personal = personal};
  training.test_rows = [](ClientId) { return std::span<const Row>(test_rows()); };
  if (!personal->layers().empty()) training.local = tried_model().layers_named("fc2", "");
  return training;
}

struct Trained {
  ClientReport report;
  Vector change;
};

Trained train(const LocalTraining& training, ClientState& state, std::uint32_t round, const Vector& model = weights_of(1)) {
  Trainer trainer(tried_model(), tried_data(), training, kRows);
  Trained trained;
  trainer.train({.round = round, .model = model, .tests = true}, 2, first_rows(kRows), state, serially, {},
                [&](const ClientUpdate& update) {
                  trained = {update.report, Vector(update.change)};
                });
  return trained;
}

Vector personal_of(const LocalTraining& training, const ClientState& state, const Vector& model = weights_of(1)) {
  return personal_weights(training, tried_model(), model, state);
}

GroupEvaluation evaluated(const Vector& weights) {
  return GroupEvaluator(tried_model(), tried_data(), {test_rows()}).evaluate(weights).front();
}

Personal ditto(double lambda) {
  Ditto personal;
  personal.lambda = lambda;
  return personal;
}

Personal local_layers(int first) {
  LocalLayers personal;
  personal.first = first;
  return personal;
}

HeavyBall heavy_ball() {
  HeavyBall optimizer;
  optimizer.initial_rate = 0.05;
  optimizer.momentum = 0.9;
  return optimizer;
}

}  // namespace

TEST_CASE("every kind: a saved and loaded client continues with the same bits, and what it keeps matters") {
  for (const auto& name : PersonalPart::family().names()) {
    CAPTURE(name);
    Personal personal;
    personal.choose(name);
    const LocalTraining training = training_with(personal);
    ClientState one;
    train(training, one, 1);
    ClientState two, fresh;
    two.load(training, one.save(training));
    const Trained next = train(training, one, 2);
    const Trained loaded = train(training, two, 2);
    const Trained anew = train(training, fresh, 2);
    CHECK(next.change == loaded.change);
    CHECK(next.report.personal_loss == loaded.report.personal_loss);
    CHECK(one.save(training) == two.save(training));
    CHECK((next.report.personal_loss == anew.report.personal_loss) != personal->keeps());
    CHECK(training.keeps_clients() == personal->keeps());
    CHECK((one.save(training).size() > 1) == personal->keeps());
  }
}

TEST_CASE("every kind: the personal model does not affect the federation's training, or is a part that is never sent") {
  const LocalTraining plain = training_with(Personal());
  for (const auto& name : PersonalPart::family().names()) {
    CAPTURE(name);
    Personal personal;
    personal.choose(name);
    const LocalTraining training = training_with(personal);
    ClientState state, none;
    for (const std::uint32_t round : {1, 2}) {
      const Trained with = train(training, state, round);
      const Trained without = train(plain, none, round);
      CHECK(with.report.examples == without.report.examples);
      CHECK(with.report.personal_examples == (personal->makes() ? test_rows().size() : 0));
      if (personal->layers().empty()) {
        CHECK(with.change == without.change);
        CHECK(with.report.loss == without.report.loss);
        continue;
      }
      bool moved = false;
      for (const Parameter& parameter : tried_model().parameters())
        for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
          if (training.local[static_cast<std::size_t>(parameter.layer)]) REQUIRE(with.change[i] == 0.0F);
          moved = moved || with.change[i] != 0;
        }
      CHECK(moved);
    }
  }
}

TEST_CASE("every kind that keeps: the tested model combines the weights received with what the client keeps") {
  for (const auto& name : PersonalPart::family().names()) {
    Personal personal;
    personal.choose(name);
    if (!personal->keeps()) continue;
    CAPTURE(name);
    const LocalTraining training = training_with(personal);
    ClientState state;
    CHECK(personal_of(training, state) == weights_of(1));  // nothing of its own yet
    for (const std::uint32_t round : {1, 2}) {
      const Trained trained = train(training, state, round);
      const GroupEvaluation own = evaluated(personal_of(training, state));
      CHECK(trained.report.personal_correct == own.correct);
      CHECK(trained.report.personal_loss == own.loss);
      CHECK(own.loss < evaluated(weights_of(1)).loss);
    }
  }
}

TEST_CASE("a fine-tuned model is the one received, trained for epochs with their own order") {
  FineTune tuned;
  ClientState state;
  const LocalTraining training = training_with(tuned);
  const double one = train(training, state, 1).report.personal_loss;
  tuned.personal_epochs = 5;
  const double five = train(training_with(tuned), state, 1).report.personal_loss;
  CHECK(one < evaluated(weights_of(1)).loss);
  CHECK(five < one);
  tuned.personal_epochs = 2;  // as many as the ordinary ones, in another order
  Trained trained = train(training_with(tuned), state, 1);
  Vector ordinary = weights_of(1);
  for (std::size_t i = 0; i < ordinary.size(); ++i) ordinary[i] += trained.change[i];
  CHECK(trained.report.personal_loss != evaluated(ordinary).loss);
  CHECK(trained.report.personal_loss == doctest::Approx(evaluated(ordinary).loss).epsilon(0.2));
}

TEST_CASE("Ditto with lambda 0 trains only on its own data; a large lambda keeps it near the model received") {
  const auto after_two_rounds = [](double lambda, const Vector& second) {
    const LocalTraining training = training_with(ditto(lambda));
    ClientState state;
    train(training, state, 1);
    train(training, state, 2, second);
    return personal_of(training, state);
  };
  CHECK(after_two_rounds(0, weights_of(2)) == after_two_rounds(0, weights_of(3)));
  CHECK(after_two_rounds(0.1, weights_of(2)) != after_two_rounds(0.1, weights_of(3)));
  const auto distance = [&](double lambda) {
    Vector difference = after_two_rounds(lambda, weights_of(2));
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= weights_of(2)[i];
    return l2_norm(view(std::as_const(difference)));
  };
  CHECK(distance(5) < 0.75 * distance(0));
}

TEST_CASE("each epoch of FedRep moves only one kind of layers, whatever momentum the others have") {
  LocalTraining all = training_with(local_layers(0), heavy_ball());
  all.keep_state = true;
  ClientState state;
  CHECK_FALSE(is_zero(view(train(all, state, 1).change)));
  LocalTraining own_alone = training_with(local_layers(1), heavy_ball());
  own_alone.keep_state = true;
  own_alone.epochs = 1;
  const Vector before = personal_of(own_alone, state);
  ClientState both;
  both.load(own_alone, state.save(all));
  CHECK(is_zero(view(train(own_alone, state, 2).change)));
  CHECK(personal_of(own_alone, state) != before);
  // A second epoch, in which the shared layers train, leaves the client's own where they were.
  LocalTraining first_own = own_alone;
  first_own.epochs = 2;
  // Epochs count only for schedules, and heavy-ball's rate is constant here.
  CHECK_FALSE(is_zero(view(train(first_own, both, 2).change)));
  CHECK(personal_of(own_alone, both) == personal_of(own_alone, state));
}

TEST_CASE("a personal model that diverged is dropped, and the client starts afresh") {
  HeavyBall wild;
  wild.initial_rate = 1e6;
  wild.momentum = 0.99;
  for (const auto& name : PersonalPart::family().names()) {
    CAPTURE(name);
    Personal personal;
    personal.choose(name);
    LocalTraining training = training_with(personal, wild);
    training.epochs = 20;
    training.batch = 1;
    ClientState state;
    train(training, state, 1);
    CHECK(state.save(training) == ClientState().save(training));
  }
}

}  // namespace fedstride::test::personal_test

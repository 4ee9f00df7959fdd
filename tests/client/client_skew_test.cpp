// A client's feature skew in training and in the test of its personal model, for every registered kind.
#include <doctest/doctest.h>

#include <memory>

#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "client/personal/fine_tune.hpp"
#include "client/trainer.hpp"
#include "data/skew/no_skew.hpp"
#include "data/skew/noise.hpp"
#include "nn/evaluator.hpp"
#include "tests/client/blobs.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::client_skew_test {
namespace {

constexpr std::uint32_t kClients = 3;
constexpr ClientId kClient = 1;

/// Small pictures of random bytes in three classes.
Dataset tiny_pictures() {
  Dataset data;
  data.name = "tiny";
  data.shape = {4, 4, 3};
  data.classes = 3;
  RandomStream random(4, {.purpose = Purpose::test});
  for (std::size_t row = 0; row < 40; ++row) {
    data.labels.push_back(static_cast<Label>(row % 3));
    for (std::size_t i = 0; i < data.shape.size(); ++i) data.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  data.mean.assign(3, 0.5F);
  data.deviation.assign(3, 0.25F);
  return data;
}

/// The same examples with the client's skew applied, as plain features in the order that the model sees.
Dataset as_client_has(const Dataset& data, const FeatureSkew& skew, std::uint64_t seed) {
  Dataset features = data;
  features.pixels = {};
  features.features.resize(data.size() * data.shape.size());
  features.mean.assign(data.shape.size(), 0);
  features.deviation.assign(data.shape.size(), 1);
  fill_batch(data, first_rows(data.size()), Augmentation::none, {}, features.features, {&*skew, seed, kClient, kClients});
  return features;
}

LocalTraining training_with(const FeatureSkew& skew, const std::vector<Row>& tests, bool is_private) {
  LocalTraining training{.optimizer = Sgd{}, .epochs = 2, .batch = 5, .keep_state = false, .seed = 9, .personal = FineTune{}};
  training.feature_skew = skew;
  training.clients = kClients;
  training.test_rows = [&tests](ClientId) { return std::span<const Row>(tests); };
  if (!is_private) return training;
  PrivateRules rules;
  rules.batch = 5;
  training.privacy.emplace();
  const auto plan = std::make_shared<const PrivatePlan>(rules, training.optimizer, 30);
  training.privacy->plans = {plan, plan, plan};
  training.privacy->source = RandomSource(std::uint64_t{11});
  return training;
}

struct Trained {
  ClientReport report;
  Vector change;
};

Trained train(const Dataset& data, const FeatureSkew& skew, bool is_private, ClientId client = kClient) {
  std::vector<Row> tests;
  for (Row row = 30; row < 40; ++row) tests.push_back(row);
  const LocalTraining training = training_with(skew, tests, is_private);
  const Model model = Model::parse("flatten | dense 5 | tanh | dense classes", data.shape, data.classes);
  const Vector start = model.initial(Initialization::fan_in, 1);
  const std::vector<std::uint64_t> releases(kClients, 1000);
  Trainer trainer(model, data, training, 30);
  ClientState state;
  Trained trained;
  trainer.train({.round = 1, .model = start, .releases = releases, .tests = true}, client, first_rows(30), state, serially, {},
                [&](const ClientUpdate& update) {
                  trained = {update.report, Vector(update.change)};
                });
  return trained;
}

}  // namespace

TEST_CASE("a client with a skew trains and tests as if its data set were skewed, with and without privacy") {
  const Dataset data = tiny_pictures();
  for (const auto& name : FeatureSkewPart::family().names()) {
    CAPTURE(name);
    FeatureSkew skew;
    skew.choose(name);
    const Dataset own = as_client_has(data, skew, 9);
    for (const bool is_private : {false, true}) {
      CAPTURE(is_private);
      const Trained skewed = train(data, skew, is_private);
      const Trained expected = train(own, FeatureSkew{}, is_private);
      CHECK(skewed.change == expected.change);
      CHECK(skewed.report.loss == expected.report.loss);
      CHECK(skewed.report.personal_examples == 10);
      CHECK(skewed.report.personal_loss == expected.report.personal_loss);
      const Trained plain = train(data, FeatureSkew{}, is_private);
      CHECK((skewed.change == plain.change) == (name == "none"));
      CHECK((skewed.report.personal_loss == plain.report.personal_loss) == (name == "none"));
    }
  }
}

TEST_CASE("the test part is evaluated with the clients' noise if the skew says so, otherwise without") {
  const Dataset data = tiny_pictures();
  const Model model = Model::parse("flatten | dense classes", data.shape, data.classes);
  const Vector weights = model.initial(Initialization::fan_in, 2);
  const double plain = Evaluator(model, data).evaluate(weights).loss;
  NoiseSkew noise;
  noise.noise_level = 2;
  const LocalTraining off = training_with(noise, {}, false);
  CHECK(Evaluator(model, data, {}, off.skew_of_test()).evaluate(weights).loss == plain);
  noise.on_test = NoiseOnTest::clients;
  const LocalTraining on = training_with(noise, {}, false);
  Dataset noisy = as_client_has(data, NoSkew{}, 9);
  fill_batch(data, first_rows(40), Augmentation::none, {}, noisy.features, {&*on.feature_skew, 9, 0, kClients, true});
  const double loss = Evaluator(model, data, {}, on.skew_of_test()).evaluate(weights).loss;
  CHECK(loss == Evaluator(model, noisy).evaluate(weights).loss);
  CHECK(loss != plain);
}

TEST_CASE("groups of clients are evaluated each with its own skew") {
  const Dataset data = tiny_pictures();
  NoiseSkew noise;
  noise.noise_level = 2;
  const FeatureSkew skew = noise;
  const Model model = Model::parse("flatten | dense classes", data.shape, data.classes);
  const Vector weights = model.initial(Initialization::fan_in, 2);
  const std::vector<Row> rows = first_rows(40);
  const std::vector<ClientSkew> skews{{&*skew, 9, 0, kClients}, {&*skew, 9, kClient, kClients}};
  GroupEvaluator together(model, data, {rows, rows}, skews);
  const auto found = together.evaluate(weights);
  const Dataset own = as_client_has(data, skew, 9);
  CHECK(found[1].loss == GroupEvaluator(model, own, {rows}).evaluate(weights).front().loss);
  CHECK(found[0].loss != found[1].loss);
  CHECK(found[0].loss != GroupEvaluator(model, data, {rows}).evaluate(weights).front().loss);
}

}  // namespace fedstride::test::client_skew_test

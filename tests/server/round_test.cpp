#include "server/round.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/random.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::round_test {
namespace {

// Client k minimizes a_k (theta - b_k)^2 / 2 by plain gradient steps of 0.05, `steps` of them a round.
struct QuadraticFleet : Fleet {
  QuadraticFleet(std::vector<double> curvatures, std::vector<double> minima, int steps_a_round)
      : a(std::move(curvatures)), b(std::move(minima)), steps(steps_a_round) {}
  std::vector<double> a;
  std::vector<double> b;
  int steps;

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort) {
      double theta = task.model[0];
      for (int i = 0; i < steps; ++i) theta -= 0.05 * a[client] * (theta - b[client]);
      const Vector change(1, static_cast<float>(theta - task.model[0]));
      const ClientReport report{.client = client, .rows = 1, .examples = 1, .steps = static_cast<std::uint64_t>(steps)};
      updates.add({report, view(change)});
    }
  }
};

// A round of federated averaging.
std::vector<ClientReport> average(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Vector& model) {
  Server server(FederatedAveraging{}, static_cast<std::size_t>(model.size()));
  return run_round(round, rules, fleet, server, model);
}

double limit_of(int steps, std::vector<std::uint64_t> weights = {1, 1}) {
  QuadraticFleet fleet{{1, 10}, {0, 1}, steps};
  const RoundRules rules{.cohort = AllClients{}, .sum = {.weights = std::move(weights)}};
  Vector model(1, 0.3F);
  for (std::uint32_t round = 1; round <= 2000; ++round) average(round, rules, fleet, model);
  return model[0];
}

// The fixed point: sum w_k b_k / sum w_k with w_k = p_k (1 - (1 - eta a_k)^E).
double predicted(int steps, double p0 = 1, double p1 = 1) {
  const double w0 = p0 * (1 - std::pow(1 - 0.05 * 1, steps));
  const double w1 = p1 * (1 - std::pow(1 - 0.05 * 10, steps));
  return w1 / (w0 + w1);
}

// Clients that send the given changes.
struct ScriptedFleet : Fleet {
  explicit ScriptedFleet(std::vector<Vector> all = {}, std::vector<ClientId> arrival = {})
      : changes(std::move(all)), order(std::move(arrival)) {}
  std::vector<Vector> changes;
  std::vector<ClientId> order;
  void collect(const Task&, const std::vector<ClientId>&, Accumulator& updates) override {
    for (const ClientId client : order) updates.add({ClientReport{.client = client}, view(std::as_const(changes[client]))});
  }
};

RoundRules equal_weights(std::size_t clients) {
  return {.cohort = AllClients{}, .sum = {.weights = std::vector<std::uint64_t>(clients, 1)}};
}

}  // namespace

TEST_CASE("two quadratic clients converge to where their local steps, not their losses, balance") {
  CHECK(limit_of(1) == doctest::Approx(0.909091).epsilon(1e-5));
  CHECK(limit_of(1) == doctest::Approx(predicted(1)).epsilon(1e-5));
  CHECK(limit_of(5) == doctest::Approx(predicted(5)).epsilon(1e-5));
  CHECK(limit_of(20) == doctest::Approx(predicted(20)).epsilon(1e-5));
  CHECK(limit_of(2000) == doctest::Approx(0.5).epsilon(1e-5));
  CHECK(limit_of(3, {1, 3}) == doctest::Approx(predicted(3, 1, 3)).epsilon(1e-5));
}

TEST_CASE("the order in which updates arrive changes no bit of the model") {
  constexpr ClientId kClients = 7;
  constexpr int kSize = 1000;
  ScriptedFleet fleet;
  RoundRules rules = equal_weights(kClients);
  for (ClientId client = 0; client < kClients; ++client) {
    RandomStream random(3, {.purpose = Purpose::test, .client = client});
    Vector change(kSize);
    for (float& value : change) value = static_cast<float>(random.normal() * std::pow(10, 4 * random.uniform() - 3));
    fleet.changes.push_back(change);
    fleet.order.push_back(client);
    rules.sum.weights[client] = 1 + random.below(1000);
  }
  Vector first(kSize, 0.1F);
  average(1, rules, fleet, first);
  RandomStream random(4, {.purpose = Purpose::test});
  for (int repetition = 0; repetition < 50; ++repetition) {
    shuffle(std::span(fleet.order), random);
    Vector model(kSize, 0.1F);
    const auto reports = average(1, rules, fleet, model);
    REQUIRE(model == first);
    for (ClientId client = 0; client < kClients; ++client) REQUIRE(reports[client].client == client);
  }
}

TEST_CASE("an update that is not finite or too large is left out and reported, and the others count") {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0x1p22F, -0x1p23F};
  for (const float value : bad) {
    ScriptedFleet fleet{{Vector(3, 1), Vector(3, 3), Vector(3, 5)}, {0, 1, 2}};
    fleet.changes[1][2] = value;
    Vector model(3);
    const auto reports = average(1, equal_weights(3), fleet, model);
    CHECK(model == Vector(3, 3));  // (1 + 5) / 2
    CHECK(reports[0].failure.empty());
    CHECK(names(reports[1].failure, {"2^22"}));
    CHECK(reports[2].failure.empty());
  }
}

TEST_CASE("a round that nobody finished changes nothing") {
  ScriptedFleet nobody{{}, {}};
  ScriptedFleet all_bad{{Vector(2, std::numeric_limits<float>::infinity())}, {0}};
  Vector model(2, 0.7F);
  average(1, equal_weights(1), nobody, model);
  CHECK(model == Vector(2, 0.7F));
  average(2, equal_weights(1), all_bad, model);
  CHECK(model == Vector(2, 0.7F));
}

TEST_CASE("the server's rate scales the mean change") {
  ScriptedFleet fleet{{Vector(2, 1), Vector(2, 2)}, {0, 1}};
  RoundRules rules = equal_weights(2);
  rules.sum.weights = {3, 1};
  Server server(FederatedAveraging({.server_learning_rate = 0.5}), 2);
  Vector model(2);
  run_round(1, rules, fleet, server, model);
  CHECK(model == Vector(2, 0.625F));  // half of (3 x 1 + 1 x 2) / 4
}

}  // namespace fedstride::test::round_test

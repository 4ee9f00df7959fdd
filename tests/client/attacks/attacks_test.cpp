#include <doctest/doctest.h>

#include <cmath>

#include "client/attacks/attack_plan.hpp"
#include "client/attacks/backdoor.hpp"
#include "client/attacks/gaussian.hpp"
#include "client/attacks/inner_product.hpp"
#include "client/attacks/label_flip.hpp"
#include "client/attacks/little_is_enough.hpp"
#include "client/attacks/no_attack.hpp"
#include "client/attacks/sign_flip.hpp"
#include "core/error.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "server/server_optimizer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::attacks_test {
namespace {

// Two rows of 2 x 3 pixels in two channels.
Dataset pictures() {
  Dataset data;
  data.shape = {2, 3, 2};
  data.classes = 10;
  data.pixels.assign(2 * 12, 7);
  data.labels = {3, 9};
  return data;
}

std::vector<std::span<const float>> views(const std::vector<Vector>& vectors) {
  std::vector<std::span<const float>> all;
  for (const Vector& vector : vectors) all.push_back(view(vector));
  return all;
}

Vector conspired(const Attack& attack, const std::vector<Vector>& honest, std::size_t attackers) {
  Vector out(honest.front().size());
  attack->conspire({}, views(honest), attackers, view(out));
  return out;
}

}  // namespace

TEST_CASE("only the labels of the attacker's rows are flipped") {
  Dataset data = pictures();
  const Row rows[] = {0};
  Attack(LabelFlip{})->poison(data, rows, 1);
  CHECK(data.labels == std::vector<Label>{6, 9});
}

TEST_CASE("sign flip and noise change an attacker's own update") {
  Vector change = vector_of({1, -2});
  SignFlip flip;
  flip.factor = 3;
  flip.falsify({}, 0, view(change));
  CHECK(change == vector_of({-3, 6}));

  GaussianAttack noise;
  noise.deviation = 2;
  Vector one(20000), same(20000), other(20000);
  noise.falsify({.seed = 1, .round = 4}, 7, view(one));
  noise.falsify({.seed = 1, .round = 4}, 7, view(same));
  noise.falsify({.seed = 1, .round = 4}, 8, view(other));
  CHECK(one == same);
  CHECK(one != other);
  double square = 0;
  for (const float value : one) square += static_cast<double>(value) * static_cast<double>(value);
  CHECK(std::sqrt(square / 20000) == doctest::Approx(2).epsilon(0.02));
}

TEST_CASE("a trigger is a white square in the lower right corner, labeled as the target") {
  Backdoor backdoor;
  backdoor.trigger_size = 1;
  backdoor.poisoned = 1;
  backdoor.backdoor_target = 5;
  Dataset data = pictures();
  const Row rows[] = {1};
  backdoor.poison(data, rows, 1);
  CHECK(data.labels == std::vector<Label>{3, 5});
  for (std::size_t i = 0; i < 24; ++i) CHECK(data.pixels[i] == (i == 12 + 5 || i == 12 + 11 ? 255 : 7));
  Vector change = vector_of({1, -2});
  backdoor.falsify({.clients = 10, .attackers = 2}, 0, view(change));
  CHECK(change == vector_of({5, -10}));
  backdoor.scale = 3;
  backdoor.falsify({.clients = 10, .attackers = 2}, 0, view(change));
  CHECK(change == vector_of({15, -30}));

  backdoor.trigger_size = 3;
  CHECK_USAGE_ERROR(backdoor.check_data(data), "trigger-size", "3", "2 x 3");
  backdoor.trigger_size = 1, backdoor.backdoor_target = 10;
  CHECK_USAGE_ERROR(backdoor.check_data(data), "backdoor-target", "10", "0", "9");
  data.pixels = {};
  CHECK_USAGE_ERROR(backdoor.check_data(data), "attack", "backdoor");
}

// Half of an attacker's pictures, regardless of other rows.
TEST_CASE("poisoned rows are drawn independently by row") {
  Dataset data = pictures();
  data.labels.assign(1000, 3);
  data.pixels.assign(12000, 7);
  std::vector<Row> rows;
  for (Row row = 0; row < 1000; ++row) rows.push_back(row);
  Dataset other = data;
  Backdoor backdoor;
  backdoor.trigger_size = 1;
  backdoor.poison(data, rows, 1);
  backdoor.poison(other, std::span(rows).subspan(500), 1);
  const auto poisoned = std::ranges::count(data.labels, Label{0});
  CHECK(poisoned > 430);
  CHECK(poisoned < 570);
  CHECK(std::equal(data.labels.begin() + 500, data.labels.end(), other.labels.begin() + 500));
}

// Honest updates 1, 2, 6: mean 3, standard deviation sqrt((4 + 1 + 9) / 3) = 2.160247.
TEST_CASE("ALIE sends the mean minus z deviations, z as in the paper's example") {
  // n = 50, f = 24: s = 26 - 24 = 2, Phi^-1(24/26) = 1.426077 (the paper rounds to 1.43).
  CHECK(little_is_enough_z(50, 24) == doctest::Approx(1.426077).epsilon(1e-6));
  CHECK(little_is_enough_z(50, 12) == doctest::Approx(0.336038).epsilon(1e-5));  // s = 14, Phi^-1(24/38)
  CHECK(little_is_enough_z(10, 2) == 0);                                         // s = 4: half of the honest clients are needed
  CHECK(little_is_enough_z(10, 8) == 0);                                         // already a majority
  LittleIsEnough alie;
  alie.z = 1.5;
  CHECK(conspired(alie, {vector_of({1, 0}), vector_of({2, 0}), vector_of({6, 0})}, 2)[0] ==
        doctest::Approx(3 - 1.5 * 2.160247).epsilon(1e-6));
}

TEST_CASE("inner-product manipulation negates the honest mean") {
  InnerProduct inner;
  inner.epsilon = 0.5;
  CHECK(conspired(inner, {vector_of({1, 4}), vector_of({3, -8})}, 1) == vector_of({-1, 1}));
}

namespace {

// Client k sends k in every parameter; the clients arrive in the order given.
struct CountingFleet : Fleet {
  explicit CountingFleet(std::vector<ClientId> arrival) : order(std::move(arrival)) {}
  std::vector<ClientId> order;
  void collect(const Task&, const std::vector<ClientId>&, Accumulator& updates) override {
    for (const ClientId client : order) {
      const Vector change(2, static_cast<float>(client));
      updates.add({ClientReport{.client = client}, view(change)});
    }
  }
};

}  // namespace

TEST_CASE("colluding attackers replace their updates, which enter the mean") {
  InnerProduct inner;
  inner.epsilon = 2;
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1}}};
  rules.attack = {.attack = inner, .attackers = {false, true, false, true}};
  for (const auto& order : {std::vector<ClientId>{0, 1, 2, 3}, {3, 1, 0, 2}}) {
    CountingFleet fleet{order};
    Server server(FederatedAveraging{}, 2);
    Vector model(2);
    const auto reports = run_round(1, rules, fleet, server, model);
    CHECK(model == Vector(2, -0.5F));  // honest 0 and 2, their mean 1: (0 + 2 - 2 - 2) / 4
    CHECK(reports[1].update_norm == doctest::Approx(2 * std::sqrt(2.0)));
  }
  // A bound on updates applies to them too.
  rules.sum.bound = UpdateBound{UpdateClip(std::sqrt(2.0) * 2.5), true};
  rules.attack.attack = InnerProduct{};
  rules.attack.attack.as<InnerProduct>()->epsilon = 100;
  CountingFleet fleet{{0, 1, 2, 3}};
  Server server(FederatedAveraging{}, 2);
  Vector model(2);
  const auto reports = run_round(1, rules, fleet, server, model);
  CHECK(model == Vector(2, 1));
  CHECK(names(reports[1].failure, {"max-update-norm"}));
}

TEST_CASE("attackers that see other clients' updates are refused if the updates are hidden") {
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1}, .denominator = 2}};
  rules.sum.release = CentralRelease{UpdateClip(1), {.grid = {1}}, {{0, 2}}, RandomSource(std::uint64_t{1})};
  CHECK_USAGE_ERROR(check_aggregation(Aggregation(), InnerProduct{}, rules.sum), "attack", "inner-product", "client-noise");
  CHECK_NOTHROW(check_aggregation(Aggregation(), SignFlip{}, rules.sum));
}

}  // namespace fedstride::test::attacks_test

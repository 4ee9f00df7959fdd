#include "server/server_optimizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "client/objectives/dynamic.hpp"
#include "client/objectives/fair.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "server/federated_adaptive.hpp"
#include "server/federated_averaging.hpp"
#include "server/federated_extrapolation.hpp"
#include "server/federated_momentum.hpp"
#include "server/length_restoring.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::server_optimizer_test {
namespace {

/// Keeps the last sum and count that it took.
struct Kept final : PooledStatistic {
  std::vector<double> tell(std::uint32_t) const override { return {sum, static_cast<double>(count)}; }
  void take(std::uint32_t, const ClientReport& all) override { sum = all.statistic, count = all.statistics; }
  void save(std::ostream&) const override {}
  void load(std::istream&) override {}
  double sum = 0;
  std::uint64_t count = 0;
};

Vector drawn_change(std::uint32_t row) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector change(101);
  for (float& value : change) value = static_cast<float>(random.normal());
  return change;
}

}  // namespace

TEST_CASE("federated averaging is the default and carries nothing; momentum carries a vector") {
  CHECK(ServerOptimizer().name() == "average");
  Server average(FederatedAveraging{}, 101), momentum(FederatedMomentum{}, 101);
  const std::string nothing = average.save(), fresh = momentum.save();
  Vector model = drawn_change(0);
  average.apply(model, drawn_change(1));
  momentum.apply(model, drawn_change(1));
  CHECK(average.save() == nothing);
  CHECK(momentum.save() != fresh);
}

TEST_CASE("a truncated or longer state, or one of another size or optimizer, is refused by name") {
  for (const auto& name : ServerOptimizerPart::family().names()) {
    CAPTURE(name);
    ServerOptimizer kind;
    kind.choose(name);
    Server server(kind, 101);
    const std::string good = server.save();
    CHECK_NOTHROW(server.load(good));
    CHECK_FAILURE(server.load(good + '\0'), "server-optimizer", name);
  }
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(""), Error);
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedMomentum{}, 101).save()), Error);
  CHECK_THROWS_AS(Server(FederatedAveraging{}, 100).load(Server(FederatedMomentum{}, 100).save()), Error);
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedAveraging{}, 100).save()), Error);
}

TEST_CASE("federated averaging adds the mean change, times its rate") {
  Server server(FederatedAveraging({.server_learning_rate = 0.5}), 2);
  Vector model = vector_of({1, -1});
  server.apply(model, vector_of({2, 4}));
  CHECK(model == vector_of({2, 1}));
  server.apply(model, vector_of({2, 4}));
  CHECK(model == vector_of({3, 3}));
}

TEST_CASE("momentum by hand: v = v / 2 + change, model += 2 v") {
  Server server(FederatedMomentum({.server_learning_rate = 2, .server_momentum = 0.5}), 2);
  Vector model = vector_of({1, 0});
  server.apply(model, vector_of({4, -1}));  // v = 4, -1
  CHECK(model == vector_of({9, -2}));
  server.apply(model, vector_of({1, 0}));  // v = 3, -1/2
  CHECK(model == vector_of({15, -3}));
  server.apply(model, vector_of({-1.5F, 2}));  // v = 0, 7/4
  CHECK(model == vector_of({15, 0.5F}));
  server.apply(model, vector_of({0, 0}));  // v = 0, 7/8: momentum continues without a change
  CHECK(model == vector_of({15, 2.25F}));
}

TEST_CASE("Nesterov's momentum by hand: v = v / 2 + change, model += 2 (change + v / 2)") {
  Server server(FederatedMomentum({.server_learning_rate = 2, .server_momentum = 0.5, .nesterov = true}), 1);
  Vector model = vector_of({1});
  server.apply(model, vector_of({4}));  // v = 4
  CHECK(model == vector_of({13}));
  server.apply(model, vector_of({1}));  // v = 3
  CHECK(model == vector_of({18}));
}

namespace {

// One weight under changes 0.3, -0.4, 0.2.
template <class Kind>
void check_steps(Kind kind, const std::vector<double>& steps) {
  kind.server_learning_rate = 1;
  kind.tau = 0.1;
  Server server(kind, 1);
  Vector model(1);
  double expected = 0;
  for (std::size_t round = 0; round < steps.size(); ++round) {
    server.apply(model, Vector(1, std::vector<float>{0.3F, -0.4F, 0.2F}[round]));
    CHECK(model[0] == doctest::Approx(expected += steps[round]).epsilon(1e-5));
  }
}

}  // namespace

// v = 0.1, 0.26, 0.3 from 0.01: 0.3 / (sqrt 0.1 + 0.1), ...
TEST_CASE("FedAdagrad's first three steps, by hand") { check_steps(FederatedAdagrad{}, {0.720759, -0.655845, 0.308774}); }

// m = 0.15, -0.125, 0.0375; v = 0.03, 0.0625, 0.056875: no bias correction, tau outside the root.
TEST_CASE("FedAdam's first three steps, by hand") {
  FederatedAdam adam;
  adam.beta1 = 0.5;
  adam.beta2 = 0.75;
  check_steps(adam, {0.549038, -0.357143, 0.110788});
}

// v = 0.0325 and 0.0725 grow by a quarter of the squared change, 0.0625 falls by a quarter of it.
TEST_CASE("FedYogi's first three steps, by hand") {
  FederatedYogi yogi;
  yogi.beta1 = 0.5;
  yogi.beta2 = 0.75;
  check_steps(yogi, {0.535184, -0.338517, 0.107143});
}

// v begins at tau^2: sqrt(v) + tau is 2 tau.
TEST_CASE("with a large tau FedAdagrad is FedAvg at its rate over 2 tau") {
  FederatedAdagrad adagrad;
  adagrad.tau = 1e4;
  adagrad.server_learning_rate = 1.4e4;
  Server large(adagrad, 101), average(FederatedAveraging({.server_learning_rate = 0.7}), 101);
  Vector a = drawn_change(0), b = a;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    large.apply(a, drawn_change(round));
    average.apply(b, drawn_change(round));
  }
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
}

// Momentum 0.5 of changes 1, 1, 1 steps 1, 1.5 and 1.75; the schedule does not affect its state.
TEST_CASE("a schedule is a factor on the server's step that depends only on the round") {
  const auto models = [](const ServerSchedule& schedule) {
    Server server(FederatedMomentum({.server_learning_rate = 1, .server_momentum = 0.5}), 1);
    server.set_schedule(schedule);
    Vector model(1);
    std::vector<float> all;
    for (std::uint32_t round = 1; round <= 3; ++round) {
      server.apply(model, vector_of({1}), round);
      all.push_back(model[0]);
    }
    return all;
  };
  CHECK(models({}) == std::vector<float>{1, 2.5F, 4.25F});
  CHECK(models({.course = ServerScheduleShape::linear, .last = 0, .rounds = 3}) == std::vector<float>{1, 1.75F, 1.75F});
  CHECK(models({.course = ServerScheduleShape::inverse, .decay = 1})[2] == doctest::Approx(1.75 + 1.75 / 3));
  const ServerSchedule linear{.course = ServerScheduleShape::linear, .last = 0.2, .rounds = 5};
  CHECK(linear.factor(3) == doctest::Approx(0.6));
  CHECK(linear.factor(4) == doctest::Approx(0.4));
  CHECK(linear.factor(5) == doctest::Approx(0.2));  // in round R, not after it
  CHECK(linear.factor(1000) == doctest::Approx(0.2));
  CHECK(ServerSchedule{.course = ServerScheduleShape::linear, .last = 0.2, .rounds = 1}.factor(1) == doctest::Approx(0.2));
}

// Changes (3, 0) and (0, 1) agree enough for a rate of 1: 5 / (2 (2.5 + 0.5)) < 1. Changes 3 and -2.5 do not:
// 7.625 / (2 (0.0625 + 0.1)) = 23.4615.
TEST_CASE("FedExP returns the mean of the last two models and continues from the last") {
  FederatedExtrapolation fedexp;
  Server server(fedexp, 2);
  Vector model = vector_of({1.0F, 2.0F});
  CHECK(server.answer(model) == vector_of({1.0F, 2.0F}));
  server.apply(model, vector_of({2.0F, 4.0F}));
  CHECK(model == vector_of({3.0F, 6.0F}));
  CHECK(server.answer(model) == vector_of({2.0F, 4.0F}));
  Server copy(fedexp, 2);
  copy.load(server.save());
  server.apply(model, vector_of({2.0F, -2.0F}));
  CHECK(server.answer(model) == vector_of({4.0F, 5.0F}));
  Vector other = vector_of({3.0F, 6.0F});
  CHECK(copy.answer(other) == vector_of({2.0F, 4.0F}));
  copy.apply(other, vector_of({2.0F, -2.0F}));
  CHECK(copy.answer(other) == server.answer(model));
  fedexp.result = ExtrapolationAnswer::last;
  Server last(fedexp, 2);
  last.apply(model, vector_of({1.0F, 1.0F}));
  CHECK(last.answer(model) == model);
}

TEST_CASE("FedExP by hand, from norms after scaling down, with equal weights") {
  const auto reports = [](double first, double second) {
    return std::vector<ClientReport>{{.client = 0, .update_norm = first},
                                     {.client = 1, .update_norm = second},
                                     {.client = 2, .update_norm = 1e9, .failure = "left out"}};
  };
  SumRules rules{.weights = {2, 2, 2}};
  FederatedExtrapolation fedexp;
  fedexp.epsilon = 0.5;
  Server near(fedexp, 2);
  Vector model(2);
  near.take(1, reports(3, 1), rules);
  near.apply(model, vector_of({1.5F, 0.5F}));
  CHECK(model == vector_of({1.5F, 0.5F}));

  fedexp.epsilon = 0.1;
  Server apart(fedexp, 1);
  Vector one(1);
  apart.take(1, reports(3, 2.5), rules);
  apart.apply(one, vector_of({0.25F}));
  CHECK(one[0] == doctest::Approx(5.865385));

  CHECK(mean_square_norm(rules, reports(3, 2.5)) == doctest::Approx(7.625));
  rules.weights = {6, 2, 1};
  CHECK(mean_square_norm(rules, reports(3, 1)) == doctest::Approx(7));
  rules.bound = UpdateBound{UpdateClip(2.0), false};
  CHECK(mean_square_norm(rules, reports(3, 1)) == doctest::Approx(3.25));
  CHECK(mean_square_norm(rules, {}) == 0);
  // In doubles (2^60 + 128) + 128 is 2^60.
  rules = {.weights = {4, 2, 2}};
  const std::vector<ClientReport> far{
      {.client = 0, .update_norm = 0x1p29}, {.client = 1, .update_norm = 8}, {.client = 2, .update_norm = 8}};
  CHECK(mean_square_norm(rules, far) == (0x1p60 + 256) / 8);
}

// Lengths 3 and 4 at right angles: the mean (1.5, 2) has 6.25 where the clients have 12.5, so q is 2 and q / 2 the smaller.
TEST_CASE("restore by hand: the mean gets its length back, never more than the clients' own, and is never shortened") {
  const auto moved = [](std::vector<double> norms, Vector mean, SumRules rules = {}) {
    rules.weights.assign(norms.size(), 1);
    std::vector<ClientReport> reports;
    for (std::size_t i = 0; i < norms.size(); ++i)
      reports.push_back({.client = static_cast<ClientId>(i), .update_norm = norms[i]});
    Server server(LengthRestoring{}, mean.size());
    server.take(1, reports, rules);
    Vector model(mean.size());
    server.apply(model, mean, 1, rules);
    CHECK(server.answer(model)[0] == model[0] / 2);  // the mean of the first model and this one
    return model;
  };
  CHECK(moved({3, 4}, vector_of({1.5F, 2})) == vector_of({1.5F, 2}));
  // q = 16 and 100: gamma is 4 and 10, and the model moves by the clients' length.
  CHECK(moved({2, 2}, vector_of({0.5F}))[0] == doctest::Approx(2));
  CHECK(moved({5, 5}, vector_of({0.3F, 0.4F}))[0] == doctest::Approx(3));
  CHECK(moved({2, 2}, vector_of({2}))[0] == 2);  // they agree
  CHECK(moved({1, 1}, vector_of({2}))[0] == 2);  // bounds and weights may leave less than the mean's
  CHECK(moved({1, 1}, vector_of({0}))[0] == 0);
  CHECK(moved({}, vector_of({1}))[0] == 1);
  CHECK(LengthRestoring::rate_for({.mean_square = 3, .square_of_mean = 1}) == 1.5);
  CHECK(LengthRestoring::rate_for({.mean_square = 9, .square_of_mean = 1}) == 3);
  // A length above the bound counts as the bound.
  SumRules bounded;
  bounded.bound = UpdateBound{UpdateClip(2.0), false};
  CHECK(moved({2, 1000}, vector_of({0.5F}), bounded)[0] == doctest::Approx(2));
}

// A client sends (change, control variate): only the change is measured, and only as much of it as the bound leaves.
TEST_CASE("what an objective sends beside the change is not measured") {
  SumRules rules{.weights = {1}, .measured = 2};
  rules.bound = UpdateBound{UpdateClip(50.0), false};
  const ClientId cohort[] = {0};
  Accumulator updates(rules, 1, cohort, 4);
  const Vector update = vector_of({3, 4, 60, 80});  // sqrt(10025) long; the bound leaves 50
  const ClientReport report{.client = 0};
  updates.add({report, view(update)});
  const auto reports = updates.reports();
  CHECK(reports[0].change_norm == doctest::Approx(5));
  CHECK(mean_square_norm(rules, reports) == doctest::Approx(25 * 2500.0 / 10025));
}

TEST_CASE("the pooled statistic is the exact sum of the reports that are in the mean, in whatever order they come") {
  std::vector<ClientReport> reports;
  for (std::uint32_t client = 0; client < 6; ++client) {
    // 1, and five times half a unit in its last place: added one by one, each would be lost.
    reports.push_back({.client = client, .steps = 1, .statistic = client == 0 ? 1 : 0x1p-53, .statistics = 1});
  }
  reports.push_back({.client = 6, .steps = 1, .statistic = 100, .statistics = 1, .failure = "left out"});
  reports.push_back({.client = 7, .steps = 1, .statistic = std::numeric_limits<double>::infinity(), .statistics = 1});
  const SumRules rules{.weights = std::vector<std::uint64_t>(reports.size(), 1)};
  for (int turn = 0; turn < 8; ++turn) {
    Server server(FederatedAveraging{}, 2, {}, std::make_unique<Kept>());
    server.take(1, reports, rules);
    CHECK(server.tell(2) == std::vector<double>{1 + 2 * 0x1p-52, 6});
    std::rotate(reports.begin(), reports.begin() + 1, reports.end());
  }
}

// The weights are 1, 3, 5 and 7, and those of clients 0 and 1 came: 4 in 16.
TEST_CASE("the local objective's server hears of the weight that came and of the clients' measures by weight") {
  const std::vector<ClientReport> reports{
      {.client = 0, .measure = 2}, {.client = 1, .measure = 6}, {.client = 2, .measure = 1e9, .failure = "left out"}};
  const auto after = [&](const LocalObjective& objective, const std::vector<ClientReport>& came, double denominator, float mean) {
    Server server(FederatedAveraging{}, 1, objective);
    server.take(1, came, {.weights = {1, 3, 5, 7}, .denominator = denominator});
    Vector model(1);
    server.apply(model, vector_of({mean}));
    return model[0];
  };
  Fair fair;  // divides by the mean measure, (2 + 3 x 6) / 4
  CHECK(after(fair, reports, 0, 10) == doctest::Approx(2));
  CHECK(after(fair, {}, 0, 10) == 0);
  Dynamic dynamic;  // h = -alpha share 8, and the change is 8 - h / alpha
  dynamic.alpha = 0.5;
  CHECK(after(dynamic, reports, 0, 8) == doctest::Approx(8 + 8.0 / 4));
  CHECK(after(dynamic, reports, 12, 8) == doctest::Approx(8 + 8 * 0.75));
}

TEST_CASE("with beta 0, momentum is federated averaging; otherwise it moves 1 / (1 - beta) times as far in the long run") {
  Server none(FederatedMomentum({.server_learning_rate = 0.7, .server_momentum = 0}), 101);
  Server average(FederatedAveraging({.server_learning_rate = 0.7}), 101), momentum(FederatedMomentum{}, 1);
  Vector a = drawn_change(0), b = a;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    none.apply(a, drawn_change(round));
    average.apply(b, drawn_change(round));
    CHECK(a == b);
  }
  Vector model(1);
  for (int round = 0; round < 300; ++round) momentum.apply(model, Vector(1, 0.25F));
  const float before = model[0];
  momentum.apply(model, Vector(1, 0.25F));
  CHECK(model[0] - before == doctest::Approx(2.5).epsilon(1e-4));
}

}  // namespace fedstride::test::server_optimizer_test

#include <doctest/doctest.h>

#include <cmath>

#include "client/objective_at_client.hpp"
#include "client/objectives/dynamic.hpp"
#include "client/objectives/fair.hpp"
#include "client/objectives/normalized.hpp"
#include "client/objectives/proximal.hpp"
#include "client/objectives/scaffold.hpp"
#include "client/optim/adadp.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride::test::closed_forms_test {
namespace {

constexpr double kRate = 0.05;
constexpr double kA[] = {1, 10};
constexpr double kB[] = {0, 1};

// Client k minimizes a_k (theta - b_k)^2 / 2, a = (1, 10), b = (0, 1), through the client's side of the local objective.
class Quadratics : public Fleet {
 public:
  Quadratics(const LocalObjective& objective, const Optimizer& optimizer, std::vector<int> steps,
             std::vector<std::uint64_t> weights)
      : objective_(objective), optimizer_(optimizer), steps_(std::move(steps)), weights_(std::move(weights)), kept_(2) {}

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    ObjectiveAtClient at(*objective_, *optimizer_, {{0, 1}});
    for (const ClientId client : cohort) {
      const auto slope = [&](double theta) { return static_cast<float>(kA[client] * (theta - kB[client])); };
      Vector weights = task.model;
      auto state = optimizer_->make_state();
      Vector scratch;
      optimizer_->start(*state, 1);
      at.begin(task, kept_[client]);
      if (at.needs_start()) at.start()[0] = slope(task.model[0]);
      const auto gradient = [&](const float* where, GradientSink sink) {
        const float value = slope(where[0]);
        return at.emit(where, 0, {&value, 1}, sink);
      };
      for (int i = 0; i < steps_[client]; ++i) at.record(optimizer_->step(*state, scratch, weights, Gradient(gradient), {}));
      Vector update;
      ClientReport report{.client = client, .rows = 1};
      report.measure = at.end(task, weights, kept_[client], update, static_cast<double>(weights_[client]));
      updates.add({report, view(std::as_const(update))});
    }
  }

 private:
  LocalObjective objective_;
  Optimizer optimizer_;
  std::vector<int> steps_;
  std::vector<std::uint64_t> weights_;
  std::vector<Vector> kept_;
};

struct Federation {
  Optimizer optimizer = Sgd{};
  std::vector<int> steps = {1, 1};
  std::vector<std::uint64_t> weights = {1, 1};
  Cohort cohort = AllClients{};
  double server_rate = 1;
  int rounds = 3000;
};

double limit_of(const LocalObjective& objective, const Federation& federation) {
  Quadratics fleet(objective, federation.optimizer, federation.steps, federation.weights);
  const RoundRules rules{
      .cohort = federation.cohort, .cohort_source = RandomSource(std::uint64_t{7}), .sum = {.weights = federation.weights}};
  Server server(FederatedAveraging({.server_learning_rate = federation.server_rate}), 1, objective);
  Vector model(1, 0.3F);
  for (int round = 1; round <= federation.rounds; ++round)
    run_round(static_cast<std::uint32_t>(round), rules, fleet, server, model);
  return model[0];
}

Proximal proximal(double mu) {
  Proximal objective;
  objective.mu = mu;
  return objective;
}

Scaffold scaffold(ScaffoldOption option) {
  Scaffold objective;
  objective.option = option;
  return objective;
}

Dynamic dynamic(double alpha) {
  Dynamic objective;
  objective.alpha = alpha;
  return objective;
}

FixedCohort one_client() {
  FixedCohort cohort;
  cohort.cohort_size = 1;
  return cohort;
}

Sgd sgd() {
  Sgd optimizer;
  optimizer.initial_rate = kRate;
  return optimizer;
}

HeavyBall heavy_ball() {
  HeavyBall optimizer;
  optimizer.initial_rate = kRate / 5;
  optimizer.momentum = 0.8;
  return optimizer;
}

// The minimum of sum p_k f_k: sum p_k a_k b_k / sum p_k a_k; 10/11 with equal weights.
double optimum(double p0 = 1, double p1 = 1) { return p1 * 10 / (p0 * 1 + p1 * 10); }

// Without control variates a client takes theta to q_k theta + (1 - q_k) b~_k in its E steps, q_k = (1 - eta (a_k + mu))^E. The
// pull is toward theta itself: one step is theta_t - eta (a_k (theta_t - b_k) + mu (theta_t - theta)), whose fixed point is
// (a_k b_k + mu theta) / (a_k + mu). So the change is (1 - q_k) a_k (b_k - theta) / (a_k + mu), and the changes sum to 0 at
// sum w_k b_k / sum w_k, w_k = p_k (1 - q_k) a_k / (a_k + mu).
double proximal_limit(double mu, int steps, double p0 = 1, double p1 = 1) {
  const auto weight = [&](double a) { return (1 - std::pow(1 - kRate * (a + mu), steps)) * a / (a + mu); };
  const double w0 = p0 * weight(1);
  const double w1 = p1 * weight(10);
  return w1 / (w0 + w1);
}

}  // namespace

TEST_CASE("FedAvg and FedProx converge to the closed form") {
  for (const int steps : {1, 2, 5, 20, 200}) {
    CHECK(limit_of(LocalObjective(), {.optimizer = sgd(), .steps = {steps, steps}}) ==
          doctest::Approx(proximal_limit(0, steps)).epsilon(1e-5));
    for (const double mu : {0.1, 1.0, 5.0})
      CHECK(limit_of(proximal(mu), {.optimizer = sgd(), .steps = {steps, steps}}) ==
            doctest::Approx(proximal_limit(mu, steps)).epsilon(1e-5));
    CHECK(limit_of(proximal(1), {.optimizer = sgd(), .steps = {steps, steps}, .weights = {1, 3}}) ==
          doctest::Approx(proximal_limit(1, steps, 1, 3)).epsilon(1e-5));
  }
  CHECK(proximal_limit(0, 1) == doctest::Approx(10.0 / 11));
}

TEST_CASE("SCAFFOLD, FedDyn and FedNova converge to the true optimum, 10/11, for any number of steps") {
  for (const int steps : {1, 2, 5, 20, 200}) {
    CAPTURE(steps);
    for (const ScaffoldOption option : {ScaffoldOption::one, ScaffoldOption::two}) {
      Federation federation{.optimizer = sgd(), .steps = {steps, steps}, .server_rate = 0.3};
      CHECK(limit_of(scaffold(option), federation) == doctest::Approx(optimum()).epsilon(2e-5));
      if (steps == 200) continue;  // with rounds of 3 steps this needs an even smaller rate
      federation.steps = {steps, 3}, federation.weights = {1, 3};
      CHECK(limit_of(scaffold(option), federation) == doctest::Approx(optimum(1, 3)).epsilon(2e-5));
      federation.optimizer = heavy_ball();
      CHECK(limit_of(scaffold(option), federation) == doctest::Approx(optimum(1, 3)).epsilon(2e-5));
    }
    CHECK(limit_of(dynamic(1), {.optimizer = sgd(), .steps = {steps, steps}}) == doctest::Approx(optimum()).epsilon(2e-5));
    CHECK(limit_of(dynamic(1), {.optimizer = sgd(), .steps = {steps, 7}, .weights = {1, 3}}) ==
          doctest::Approx(optimum(1, 3)).epsilon(2e-5));
  }
  // FedNova corrects for unequal numbers of steps. Curvature within long rounds remains, so
  // it is exact in the limit of small rates: the mean gradient of E steps differs from that at theta by O(E eta a).
  Sgd slow = sgd();
  slow.initial_rate = 1e-4;
  const double uneven = limit_of(LocalObjective(), {.optimizer = slow, .steps = {8, 1}, .rounds = 40000});
  const double nova = limit_of(Normalized{}, {.optimizer = slow, .steps = {8, 1}, .rounds = 40000});
  CHECK(uneven == doctest::Approx(10.0 / 18).epsilon(2e-3));  // weights 8 x 1 and 1 x 10
  CHECK(nova == doctest::Approx(optimum()).epsilon(2e-3));
}

// With equal controls and unequal models, no client moves at a theta where each control is the client's gradient and c = 0,
// and c is the mean of the gradients with equal weights.
TEST_CASE("SCAFFOLD with equal controls converges to the optimum of equally weighted clients, whatever the models' weights") {
  for (const ScaffoldOption option : {ScaffoldOption::one, ScaffoldOption::two}) {
    Scaffold objective = scaffold(option);
    objective.controls = ScaffoldControls::equal;
    for (const std::vector<int>& steps : {std::vector{5, 5}, {20, 3}}) {
      const Federation federation{.optimizer = sgd(), .steps = steps, .weights = {9, 1}, .server_rate = 0.3};
      CHECK(limit_of(objective, federation) == doctest::Approx(optimum(1, 1)).epsilon(2e-5));
      CHECK(limit_of(scaffold(option), federation) == doctest::Approx(optimum(9, 1)).epsilon(2e-5));
    }
    // With one client a round the mean is its own update, so weights that the controls ignore have no effect at all.
    Federation sampled{.optimizer = sgd(), .steps = {5, 5}, .weights = {4, 1}, .cohort = one_client(), .rounds = 20};
    const double unequal = limit_of(objective, sampled);
    CHECK(unequal != limit_of(scaffold(option), sampled));
    sampled.weights = {1, 1};
    CHECK(unequal == limit_of(objective, sampled));
    CHECK(unequal == limit_of(scaffold(option), sampled));
  }
}

// In a long round client k ends where a_k (theta_k - b_k) = c_k - c. With option one c_k is a_k (theta' - b_k), theta' the model
// of the round before, so that theta_k = theta' - c / a_k, c = mean(a) (theta' - 10/11). With the server's rate s the distance e
// to 10/11 goes e'' = (1 - s) e' + s (1 - mean(1/a) mean(a)) e: stable for s < 1 / (0.55 x 5.5 - 1) = 0.4938.
TEST_CASE("SCAFFOLD's long rounds need a server rate below the derived bound") {
  Federation federation{.optimizer = sgd(), .steps = {400, 400}, .server_rate = 0.48};
  CHECK(limit_of(scaffold(ScaffoldOption::one), federation) == doctest::Approx(optimum()).epsilon(2e-5));
  federation.server_rate = 0.51;
  CHECK(std::abs(limit_of(scaffold(ScaffoldOption::one), federation) - optimum()) > 10);
}

TEST_CASE("FedNova's normalized steps follow the paper's vector a, and its limit the closed form") {
  // A client's change over its reach is (1 - q_k) (b_k - theta) / R_k, R_k = eta E_k with SGD.
  const auto weight = [](double a, int steps) { return (1 - std::pow(1 - kRate * a, steps)) / (kRate * steps); };
  for (const std::vector<int>& steps : {std::vector{1, 1}, {5, 2}, {20, 3}}) {
    const double w0 = weight(1, steps[0]), w1 = weight(10, steps[1]);
    CHECK(limit_of(Normalized{}, {.optimizer = sgd(), .steps = steps}) == doctest::Approx(w1 / (w0 + w1)).epsilon(1e-5));
  }
  // The reach against the closed forms of Wang et al. 2020: (tau - rho (1 - rho^tau) / (1 - rho)) / (1 - rho) with momentum rho,
  // (1 - (1 - eta mu)^tau) / (eta mu) with a pull mu.
  const auto reach = [](const Optimizer& optimizer, double mu, int steps) {
    UnitWeight unit{.pull = mu};
    for (int i = 0; i < steps; ++i)
      optimizer->follow(unit, {.learning_rate = optimizer->learning_rate(*optimizer->make_state(), {})});
    return unit.moved;
  };
  for (const int tau : {1, 2, 7, 30}) {
    const double rho = 0.8, mu = 0.7;
    CHECK(reach(sgd(), 0, tau) == doctest::Approx(kRate * tau));
    CHECK(reach(heavy_ball(), 0, tau) ==
          doctest::Approx(kRate / 5 * (tau - rho * (1 - std::pow(rho, tau)) / (1 - rho)) / (1 - rho)));
    CHECK(reach(sgd(), mu, tau) == doctest::Approx((1 - std::pow(1 - kRate * mu, tau)) / mu));
  }
}

TEST_CASE("control variates with a sampled cohort converge to the optimum too") {
  for (const LocalObjective& objective : {LocalObjective(Scaffold{}), LocalObjective(scaffold(ScaffoldOption::one))})
    CHECK(limit_of(objective, {.optimizer = sgd(), .steps = {5, 5}, .weights = {1, 3}, .cohort = one_client(), .rounds = 6000}) ==
          doctest::Approx(optimum(1, 3)).epsilon(1e-3));
}

TEST_CASE("under ADADP the reach is the sum of the rates of the steps that were kept") {
  const Adadp adadp;
  UnitWeight unit;
  adadp.follow(unit, {.learning_rate = 0.3});
  adadp.follow(unit, {.learning_rate = 0.2, .accepted = false, .kept = 0});
  adadp.follow(unit, {.learning_rate = 0.4, .kept = 0.5});
  CHECK(unit.moved == doctest::Approx(0.5));
  CHECK(limit_of(Scaffold{}, {.optimizer = Adadp{}, .steps = {5, 5}, .rounds = 2000}) ==
        doctest::Approx(optimum()).epsilon(1e-3));
}

// q = 1, L = 2. Client 0: F = 2, change (3, 4), |u|^2 = 100; client 1: F = 4, change (0, 1), |u|^2 = 4. The paper's step is
// sum F L change / sum (|u|^2 + L F) = (12, 24) / (104 + 12).
TEST_CASE("one round of q-FedAvg, by hand") {
  Fair fair;
  fair.q = 1;
  const std::vector<float> changes[] = {{3, 4}, {0, 1}};
  const double losses[] = {2, 4};
  std::vector<ClientReport> reports;
  Vector mean(2);
  for (ClientId client = 0; client < 2; ++client) {
    const ObjectiveScale scale = fair.scale({.change = changes[client], .start_loss = losses[client], .rate = 0.5});
    CHECK(scale.factor == losses[client]);
    CHECK(scale.measure == (client == 0 ? 52 : 6));  // over L
    reports.push_back({.client = client, .measure = scale.measure});
    for (std::size_t i = 0; i < 2; ++i) mean[i] += static_cast<float>(scale.factor) * changes[client][i] / 2;
  }
  Server server(FederatedAveraging{}, 2, fair);
  server.take(1, reports, {.weights = {1, 1}});
  Vector model(2);
  server.apply(model, mean);
  CHECK(model[0] == doctest::Approx(12.0 / 116));
  CHECK(model[1] == doctest::Approx(24.0 / 116));
}

TEST_CASE("a pull of 0 is the plain objective, bit for bit") {
  for (const int steps : {1, 7}) {
    const Federation federation{.optimizer = sgd(), .steps = {steps, 3}, .rounds = 20};
    CHECK(limit_of(proximal(0), federation) == limit_of(LocalObjective(), federation));
  }
}

}  // namespace fedstride::test::closed_forms_test

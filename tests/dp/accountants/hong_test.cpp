#include "dp/accountants/hong.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"

namespace fedstride::test::hong_test {
namespace {

/// q_1 .. q_T by the recursion q_T = 1, q_t = gamma q_{t+1} + beta^{2 (T - t)}: what log_influence() gives in closed form.
std::vector<double> influences(std::uint64_t steps, double gamma, double momentum = 0) {
  std::vector<double> q(steps, 1.0);
  double power = 1;
  for (std::size_t t = q.size() - 1; t-- > 0;) {
    power *= momentum * momentum;
    q[t] = gamma * q[t + 1] + power;
  }
  return q;
}

TEST_CASE("Equation 5 by hand") {
  // M D / 2R = 2 * 10 / (2 * 0.5) = 20; (0.5 * 3 / 100)^2 = 2.25e-4; over the gap 1.5: 3e-3.
  CHECK(hong::alpha(
            {.smoothness = 2, .dimension = 10, .budget = 0.5, .learning_rate = 0.5, .clip = 3, .examples = 100, .gap = 1.5}) ==
        doctest::Approx(3e-3).epsilon(1e-14));
  CHECK(hong::gamma(4) == 0.75);
}

TEST_CASE("the influence of noise by its closed form is the recursion, where beta squared is gamma too") {
  for (const double gamma : {0.5, 0.81, 0.99, 1.0})
    for (const double momentum : {0.0, 0.3, 0.9, 0.9000001}) {
      CAPTURE(gamma);
      CAPTURE(momentum);
      const auto q = influences(40, gamma, momentum);
      double root_sum = 0;
      for (std::size_t t = 0; t < q.size(); ++t) {
        CHECK(hong::log_influence(40 - t, gamma, momentum) == doctest::Approx(std::log(q[t])).epsilon(1e-8));
        root_sum += std::sqrt(q[t]);
      }
      CHECK(hong::log_root_sum(40, gamma, momentum) == doctest::Approx(std::log(root_sum)).epsilon(1e-8));
    }
  // gamma = beta^2 = 0.81: T - t + 1 equal terms.
  CHECK(influences(3, 0.81, 0.9)[0] == doctest::Approx(3 * 0.81 * 0.81).epsilon(1e-14));
}

TEST_CASE("Lemma 3.1 spends R exactly and no other schedule of R has less weighted noise") {
  for (const double momentum : {0.0, 0.8}) {
    const auto q = influences(30, 0.9, momentum);
    const auto sigmas = hong::dynamic_sigmas(30, 0.7, 0.9, momentum);
    const auto weighted = [&](const std::vector<double>& sigma) {
      double sum = 0;
      for (std::size_t t = 0; t < q.size(); ++t) sum += 0.7 * q[t] * sigma[t] * sigma[t];
      return sum;
    };
    double budget = 0;
    for (const double sigma : sigmas) budget += 1 / (sigma * sigma);
    CHECK(budget == doctest::Approx(0.7).epsilon(1e-12));
    CHECK(weighted(sigmas) == doctest::Approx(std::exp(2 * hong::log_root_sum(30, 0.9, momentum))).epsilon(1e-9));
    // Move a little budget from step i to step j: worse both ways.
    for (const auto& [i, j] : {std::pair{0, 29}, std::pair{29, 0}, std::pair{10, 11}, std::pair{11, 10}}) {
      auto other = sigmas;
      const double moved = 0.001 / (sigmas[i] * sigmas[i]);
      other[i] = 1 / std::sqrt(1 / (sigmas[i] * sigmas[i]) - moved);
      other[j] = 1 / std::sqrt(1 / (sigmas[j] * sigmas[j]) + moved);
      CHECK(weighted(other) > weighted(sigmas));
    }
  }
}

TEST_CASE("the bounds are the sums of Equation 6") {
  const double kappa = 10;
  const double alpha = 1e-3;
  double static_sum = 0;
  double root_sum = 0;
  for (int t = 1; t <= 25; ++t) {
    static_sum += 25 * alpha * std::pow(0.9, 25 - t);  // R q_t sigma^2, sigma^2 = T / R
    root_sum += std::sqrt(alpha * std::pow(0.9, 25 - t));
  }
  CHECK(hong::static_bound(25, alpha, kappa) == doctest::Approx(std::pow(0.9, 25) + static_sum).epsilon(1e-12));
  CHECK(hong::dynamic_bound(25, alpha, kappa) == doctest::Approx(std::pow(0.9, 25) + root_sum * root_sum).epsilon(1e-12));
}

TEST_CASE("the best numbers of steps are those a search over all numbers finds") {
  for (const double kappa : {1.0, 1.5, 10.0, 300.0})
    for (const double alpha : {1e-8, 1e-4, 3e-3, 0.2, 5.0}) {
      CAPTURE(kappa);
      CAPTURE(alpha);
      std::uint64_t best_bound = 0;
      std::uint64_t best_relaxed = 0;
      std::uint64_t best_dynamic = 0;
      const auto relaxed = [&](double t) { return std::pow(1 - 1 / kappa, t) + kappa * alpha * t; };
      for (std::uint64_t t = 1; t <= 20'000; ++t) {
        const auto steps = static_cast<double>(t);
        if (hong::static_bound(steps, alpha, kappa) <
            hong::static_bound(static_cast<double>(best_bound), alpha, kappa) * (1 - 1e-15))
          best_bound = t;
        if (relaxed(steps) < relaxed(static_cast<double>(best_relaxed))) best_relaxed = t;
        if (hong::dynamic_bound(steps, alpha, kappa) <
            hong::dynamic_bound(static_cast<double>(best_dynamic), alpha, kappa) * (1 - 1e-15))
          best_dynamic = t;
      }
      const auto found = hong::best_static_steps(alpha, kappa);
      CHECK(found.bound == best_bound);
      CHECK(found.relaxed == best_relaxed);
      CHECK((found.printed == best_relaxed || found.printed == best_relaxed + 1));
      const auto dynamic = hong::best_dynamic_steps(alpha, kappa);
      CHECK(dynamic.bound == best_dynamic);
      CHECK((dynamic.printed == best_dynamic || dynamic.printed == best_dynamic + 1));
    }
}

TEST_CASE("zeta is Equation 17, and the printed condition on the rate does not make it negative for large momentum") {
  // M = 1, beta = 0.5, gamma = 0.9, eta = 0.1: 4 * 0.5 * 0.9 * 0.01 / (0.16 * 0.125) + 0.05 - 1 = -0.05.
  CHECK(hong::zeta(1, 0.5, 0.9, 0.1) == doctest::Approx(-0.05).epsilon(1e-12));
  const double beta = 0.95;
  const double cube = beta * std::pow(1 - beta, 3);
  const double printed = cube / 8 * (std::sqrt(0.25 + 16 / cube) - 1);
  const double mu = 0.04 / printed;  // gamma = 1 - eta mu = 0.96, near beta
  CHECK(hong::zeta(1, beta, 1 - printed * mu, printed) > 0);
}

TEST_CASE("numbers out of range are refused") {
  for (double hong::Problem::*number :
       {&hong::Problem::smoothness, &hong::Problem::dimension, &hong::Problem::budget, &hong::Problem::learning_rate,
        &hong::Problem::clip, &hong::Problem::examples, &hong::Problem::gap}) {
    hong::Problem problem;
    problem.*number = 0;
    CHECK_THROWS_AS(hong::alpha(problem), Error);
  }
  CHECK_THROWS_AS(hong::gamma(0.5), Error);
  CHECK_THROWS_AS(hong::best_dynamic_steps(NAN, 2), Error);
  CHECK_THROWS_AS(hong::dynamic_bound(1, 1, 0.5), Error);
  CHECK_THROWS_AS(hong::best_static_steps(-1, 2), Error);
  CHECK_THROWS_AS(hong::dynamic_sigmas(0, 1, 0.9), Error);
  CHECK_THROWS_AS(hong::dynamic_sigmas(1'000'000'000'000, 1, 0.9), Error);
}

// Plain gradient steps on mu theta^2 / 2 with noise on each gradient, (1 - eta mu)^2 = 0.9: the loss from noise is
// proportional to sum_t 0.9^{T-t} sigma_t^2, and dynamic over static is (sum sqrt q)^2 / (T sum q).
TEST_CASE("on a noisy quadratic the dynamic schedule loses the share of the static one that theory predicts") {
  for (const auto& [steps, ratio] : {std::pair<std::uint64_t, double>{50, 0.658}, {100, 0.376}}) {
    const auto sigmas = hong::dynamic_sigmas(steps, 1, 0.9);
    const double static_sigma = std::sqrt(static_cast<double>(steps));
    const double keep = std::sqrt(0.9);
    double static_loss = 0;
    double dynamic_loss = 0;
    constexpr int kDimensions = 4;
    for (std::uint32_t run = 0; run < 10'000 * kDimensions; ++run) {
      RandomStream noise(31, {.purpose = Purpose::test, .round = static_cast<std::uint32_t>(steps), .row = run});
      double static_theta = 0;
      double dynamic_theta = 0;
      for (std::uint64_t t = 0; t < steps; ++t) {
        const double normal = noise.normal();
        static_theta = keep * static_theta - (1 - keep) * static_sigma * normal;
        dynamic_theta = keep * dynamic_theta - (1 - keep) * sigmas[t] * normal;
      }
      static_loss += static_theta * static_theta;
      dynamic_loss += dynamic_theta * dynamic_theta;
    }
    CHECK(dynamic_loss / static_loss == doctest::Approx(ratio).epsilon(0.02));
  }
}

}  // namespace
}  // namespace fedstride::test::hong_test

#include "dp/accountants/hong.hpp"

#include <cmath>
#include <limits>

#include "core/family.hpp"
#include "core/stop.hpp"

namespace fedstride::hong {
namespace {

constexpr std::uint64_t kMaxListedSteps = 10'000'000;  // longest list of sigmas

void check_alpha_kappa(double alpha, double kappa) {
  check_value("alpha", kPositive, alpha);
  check_value("kappa", kAtLeastOne, kappa);
}

void check_influence(double gamma, double momentum) {
  check_value("gamma", {.low = 0, .high = 1, .low_included = false}, gamma);
  check_value("momentum", {.low = 0, .high = 1, .high_included = false}, momentum);
}

void check_steps(std::uint64_t steps) { check_value("steps", {.low = 1, .high = static_cast<double>(kMaxListedSteps)}, steps); }

// Returns the better of the two whole numbers around `real`, the minimizer of a function that falls, then rises.
std::uint64_t whole_minimizer(double real, const auto& value) {
  if (!(real < 9e15)) throw usage_error("the best number of steps is " + number_text(real) + "; at most 9e15 is supported");
  const double below = std::floor(std::fmax(real, 0));
  return static_cast<std::uint64_t>(value(below + 1) < value(below) ? below + 1 : below);
}

double log_gamma(double kappa) { return std::log1p(-1 / kappa); }

}  // namespace

double alpha(const Problem& problem) {
  check_value("smoothness", kPositive, problem.smoothness);
  check_value("dimension", kPositive, problem.dimension);
  check_value("budget", kPositive, problem.budget);
  check_value("learning-rate", kPositive, problem.learning_rate);
  check_value("clip", kPositive, problem.clip);
  check_value("examples", kPositive, problem.examples);
  check_value("gap", kPositive, problem.gap);
  const double noise = problem.learning_rate * problem.clip / problem.examples;
  return problem.smoothness * problem.dimension / (2 * problem.budget) * noise * noise / problem.gap;
}

double gamma(double kappa) {
  check_value("kappa", kAtLeastOne, kappa);
  return 1 - 1 / kappa;
}

double log_influence(std::uint64_t n, double gamma, double momentum) {
  check_influence(gamma, momentum);
  const double power = static_cast<double>(n - 1) * std::log(gamma);
  if (momentum == 0) return power;
  // gamma^{n-1} times the geometric sum in x = beta^2 / gamma, which is finite at x = 1. Where x^n may overflow, powers of beta^2
  // are factored out instead.
  const double log_ratio = 2 * std::log(momentum) - std::log(gamma);
  const auto terms = static_cast<double>(n);
  if (log_ratio == 0) return power + std::log(terms);
  const double sign = log_ratio < 0 ? -1 : 1;
  const double lead = log_ratio < 0 ? power : static_cast<double>(n - 1) * 2 * std::log(momentum);
  return lead + std::log(std::expm1(-sign * terms * log_ratio) / std::expm1(-sign * log_ratio));
}

double log_root_sum(std::uint64_t steps, double gamma, double momentum) {
  check_steps(steps);
  check_influence(gamma, momentum);
  const auto terms = static_cast<double>(steps);
  if (momentum == 0) {
    if (gamma == 1) return std::log(terms);
    const double log_root = std::log(gamma) / 2;
    return std::log(std::expm1(terms * log_root) / std::expm1(log_root));
  }
  double sum = 0;  // every q_t is at most T, and q_T is 1
  for (std::uint64_t n = 1; n <= steps; ++n) {
    check_stop();
    sum += std::exp(log_influence(n, gamma, momentum) / 2);
  }
  return std::log(sum);
}

std::vector<double> dynamic_sigmas(std::uint64_t steps, double budget, double gamma, double momentum) {
  check_value("budget", kPositive, budget);
  const double log_sum = log_root_sum(steps, gamma, momentum);
  std::vector<double> sigmas;
  sigmas.reserve(steps);
  for (std::uint64_t n = steps; n > 0; --n) {
    check_stop();
    sigmas.push_back(std::exp((log_sum - std::log(budget) - log_influence(n, gamma, momentum) / 2) / 2));
  }
  return sigmas;
}

double static_bound(double steps, double alpha, double kappa) {
  check_alpha_kappa(alpha, kappa);
  if (steps == 0) return 1;
  const double left = std::exp(steps * log_gamma(kappa));
  return left + kappa * alpha * steps * -std::expm1(steps * log_gamma(kappa));
}

double dynamic_bound(double steps, double alpha, double kappa) {
  check_alpha_kappa(alpha, kappa);
  if (steps == 0) return 1;
  const double log_root = log_gamma(kappa) / 2;
  const double sum = std::expm1(steps * log_root) / std::expm1(log_root);
  return std::exp(2 * steps * log_root) + alpha * sum * sum;
}

StaticSteps best_static_steps(double alpha, double kappa) {
  check_alpha_kappa(alpha, kappa);
  StaticSteps best;
  if (kappa == 1) {  // one step reaches the optimum
    best.printed = best.relaxed = best.bound = alpha < 1 ? 1 : 0;
    return best;
  }
  const double slope = -log_gamma(kappa);
  if (kappa * alpha < slope) {
    const double real = std::log(slope / (kappa * alpha)) / slope;
    const auto relaxed = [&](double steps) { return std::exp(-slope * steps) + kappa * alpha * steps; };
    best.relaxed = whole_minimizer(real, relaxed);
    best.printed = static_cast<std::uint64_t>(std::ceil(real));
  }
  // The derivative of the bound vanishes if kappa alpha = gamma^T (slope + kappa alpha - kappa alpha slope T); the right side
  // falls and crosses the left side once.
  const auto falls = [&](double steps) {
    return std::exp(-slope * steps) * (slope + kappa * alpha - kappa * alpha * slope * steps) > kappa * alpha;
  };
  double low = 0;
  double high = 1;
  while (falls(high)) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-3; ++i) {
    const double middle = (low + high) / 2;
    (falls(middle) ? low : high) = middle;
  }
  best.bound = whole_minimizer(low, [&](double steps) { return static_bound(steps, alpha, kappa); });
  return best;
}

DynamicSteps best_dynamic_steps(double alpha, double kappa) {
  check_alpha_kappa(alpha, kappa);
  const double rest = -std::expm1(log_gamma(kappa) / 2);  // 1 - sqrt(gamma)
  // In terms of x = sqrt(gamma)^T, the bound is x^2 + alpha (1 - x)^2 / rest^2.
  const double real = kappa == 1 ? 0 : -2 * std::log1p(rest * rest / alpha) / log_gamma(kappa);
  const std::uint64_t bound = whole_minimizer(real, [&](double steps) { return dynamic_bound(steps, alpha, kappa); });
  return {kappa == 1 ? bound : static_cast<std::uint64_t>(std::ceil(real)), bound};
}

double zeta(double smoothness, double momentum, double gamma, double learning_rate) {
  check_value("smoothness", kPositive, smoothness);
  check_value("learning-rate", kPositive, learning_rate);
  check_influence(gamma, momentum);
  if (gamma == momentum) return std::numeric_limits<double>::infinity();
  const double growth = smoothness * learning_rate / (gamma - momentum);
  return 4 * growth * growth * momentum * gamma / std::pow(1 - momentum, 3) + smoothness * learning_rate / 2 - 1;
}

}  // namespace fedstride::hong

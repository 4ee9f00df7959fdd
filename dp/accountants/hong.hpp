#pragma once

#include <cstdint>
#include <vector>

/// Hong, Wang & Zhou, "Dynamic privacy budget allocation improves data efficiency of differentially private gradient descent"
/// (FAccT 2022). sigma_t is the standard deviation of the mean gradient's noise in multiples of C_t / N, that is, the noise
/// multiplier of the sum; R = sum_t 1 / sigma_t^2. All inputs must come from public or auxiliary data: estimates from the private
/// data would reveal information about it. Values out of range throw Error (usage).
namespace fedstride::hong {

/// Equation 5: alpha = (M D / 2R) (eta C / N)^2 / gap, with smoothness M, dimension D and gap f(theta_1) - f*.
struct Problem {
  double smoothness = 1;     ///< M > 0
  double dimension = 1;      ///< D > 0
  double budget = 1;         ///< R > 0
  double learning_rate = 1;  ///< eta; the theorem uses 1 / M
  double clip = 1;           ///< C; if C >= the Lipschitz constant G, nothing is clipped and the theorem holds
  double examples = 1;       ///< N, public
  double gap = 1;            ///< f(theta_1) - f* > 0
};
double alpha(const Problem& problem);
/// 1 - 1 / kappa, kappa = M / mu >= 1.
double gamma(double kappa);

/// ln of the influence of a step's noise when n - 1 steps follow (n = T - t + 1), without the factor alpha. The influence is
/// gamma^{n-1} or, with momentum beta (Theorem 3.4), sum_{j<n} gamma^{n-1-j} beta^{2j}. 0 < gamma <= 1, 0 <= beta < 1.
double log_influence(std::uint64_t n, double gamma, double momentum = 0);

/// ln sum_t sqrt(q_t) over T steps, where q_t is the influence of step t.
double log_root_sum(std::uint64_t steps, double gamma, double momentum = 0);
/// Lemma 3.1: sigma_1 .. sigma_T with sigma_t^2 = sum_i sqrt(q_i) / (R sqrt(q_t)), q_t as above.
std::vector<double> dynamic_sigmas(std::uint64_t steps, double budget, double gamma, double momentum = 0);

/// Equation 6 divided by the gap, for sigma_t^2 = T / R: gamma^T + kappa alpha T (1 - gamma^T).
double static_bound(double steps, double alpha, double kappa);
/// The same bound with Lemma 3.1's sigma_t: gamma^T + alpha (sum_t gamma^{(T-t)/2})^2.
double dynamic_bound(double steps, double alpha, double kappa);

/// The best number of steps for sigma_t^2 = T / R, by three criteria.
struct StaticSteps {
  std::uint64_t printed = 0;  ///< Theorem 3.3 as printed, rounded up
  std::uint64_t relaxed = 0;  ///< minimizes gamma^T + kappa alpha T, the theorem's relaxation of the bound
  std::uint64_t bound = 0;    ///< minimizes static_bound itself
};
StaticSteps best_static_steps(double alpha, double kappa);
/// The best number of steps for Lemma 3.1's sigma_t, by two criteria.
struct DynamicSteps {
  std::uint64_t printed = 0;  ///< Lemma 3.2 (Equation 11) as printed, rounded up
  std::uint64_t bound = 0;    ///< of the two whole numbers around the lemma's value, the one with the smaller dynamic_bound
};
DynamicSteps best_dynamic_steps(double alpha, double kappa);

/// Equation 17; if zeta <= 0, Theorem 3.4 bounds the error by its noise and decay terms alone. The printed condition on eta_0
/// does not imply this for large beta, so check the value.
double zeta(double smoothness, double momentum, double gamma, double learning_rate);

}  // namespace fedstride::hong

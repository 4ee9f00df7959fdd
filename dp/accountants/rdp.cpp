#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"

// The accountants that convert divergences to epsilon, at the best order of a grid or at the best of all orders.

namespace fedstride {
namespace {

/// Returns the best order's warning, or a warning if that order is at an end of the grid, beyond which orders might be better.
std::string edge_warning(const BestOrder& best) {
  if (!best.warning.empty()) return best.warning + (best.is_first ? "; the grid has no smaller order" : "");
  if (best.is_last)
    return "the best order, " + number_text(best.order) + ", is the last of the grid: larger orders might give a smaller epsilon";
  if (best.is_first)
    return "the best order, " + number_text(best.order) +
           ", is the first of the grid: smaller orders might give a smaller epsilon";
  return {};
}

Rdp moments_as_rdp() {
  Rdp rdp;
  rdp.orders = OrderGrid::ma32;
  rdp.conversion = Conversion::classical;
  return rdp;
}

/// The smallest cost(order) over orders above 1; any order gives a valid bound.
double least_over_orders(const auto& cost) {
  std::uintmax_t rounds = 500;
  return boost::math::tools::brent_find_minima([&](double t) { return cost(1 + std::exp(t)); }, -20.0, 40.0, 40, rounds).second;
}

std::string adaptive_warning(std::span<const Releases> spending) {
  if (std::ranges::none_of(spending, &Releases::adaptive)) return {};
  return "noise was chosen after looking at earlier outputs: this holds if a budget of zCDP, fixed beforehand, was no larger";
}

}  // namespace

PrivacyBound Rdp::least_epsilon(std::span<const Releases> spending, double delta) const {
  if (merged(spending).empty()) return {};
  const auto best = best_order(spending, order_grid(orders),
                               [&](double order, double divergence) { return epsilon_at(conversion, order, divergence, delta); });
  if (best.cost <= 0) return {};
  return {best.cost, edge_warning(best)};
}

PrivacyBound Rdp::least_delta(std::span<const Releases> spending, double epsilon) const {
  if (merged(spending).empty()) return {};
  const auto best = best_order(spending, order_grid(orders), [&](double order, double divergence) {
    return log_delta_at(conversion, order, divergence, epsilon);
  });
  return bound_of(best.cost, edge_warning(best));
}

PrivacyBound Moments::least_epsilon(std::span<const Releases> spending, double delta) const {
  return moments_as_rdp().least_epsilon(spending, delta);
}

PrivacyBound Moments::least_delta(std::span<const Releases> spending, double epsilon) const {
  return moments_as_rdp().least_delta(spending, epsilon);
}

double zcdp_rho(std::span<const Releases> spending) {
  double rho = 0;
  for (const Releases& releases : merged(spending)) {
    const double distance = distance_between(releases.neighbours);
    rho += static_cast<double>(releases.count) * std::pow(distance / releases.noise_multiplier, 2) / 2;
  }
  return rho;
}

double zcdp_epsilon_classical(double rho, double delta) { return rho + 2 * std::sqrt(-rho * std::log(delta)); }

double zcdp_epsilon(double rho, double delta) {
  if (rho == 0) return 0;
  const double least =
      least_over_orders([&](double order) { return epsilon_at(Conversion::improved, order, order * rho, delta); });
  return std::max(least, 0.0);
}

double zcdp_log_delta(double rho, double epsilon) {
  const double least =
      least_over_orders([&](double order) { return log_delta_at(Conversion::improved, order, order * rho, epsilon); });
  return std::min(least, 0.0);
}

std::string Zcdp::unsound(std::span<const Releases> spending) const {
  for (const Releases& releases : spending)
    if (releases.rate < 1 && (releases.sampling == Sampling::poisson || releases.sampling == Sampling::without_replacement))
      return "it has no amplification by sampling, and the rate is " + number_text(releases.rate) +
             (releases.sampling == Sampling::poisson ? "; valid: tight, rdp" : "; valid: rdp");
  return AccountantPart::unsound(spending);
}

PrivacyBound Zcdp::least_epsilon(std::span<const Releases> spending, double delta) const {
  const double rho = zcdp_rho(spending);
  return {conversion == Conversion::classical ? zcdp_epsilon_classical(rho, delta) : zcdp_epsilon(rho, delta),
          adaptive_warning(spending)};
}

PrivacyBound Zcdp::least_delta(std::span<const Releases> spending, double epsilon) const {
  const double rho = zcdp_rho(spending);
  if (rho == 0) return {0, adaptive_warning(spending)};
  if (conversion == Conversion::improved) return bound_of(zcdp_log_delta(rho, epsilon), adaptive_warning(spending));
  const double beyond = std::max(epsilon - rho, 0.0);  // Bun, Steinke: exp(-(epsilon - rho)^2 / 4 rho)
  return bound_of(-beyond * beyond / (4 * rho), adaptive_warning(spending));
}

}  // namespace fedstride

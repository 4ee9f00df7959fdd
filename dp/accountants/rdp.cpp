#include "dp/accountants/rdp.hpp"

#include <algorithm>
#include <cmath>

#include "dp/accountants/refusals.hpp"

namespace fedstride {
namespace {

/// A minimum at the end of the grid may be lower beyond it.
std::string edge_warning(const BestOrder& best) {
  if (!best.warning.empty()) return best.warning + (best.is_first ? "; the grid has no smaller order" : "");
  if (best.is_last)
    return "the best order, " + number_text(best.order) + ", is the last of the grid: larger orders might prove less epsilon";
  if (best.is_first)
    return "the best order, " + number_text(best.order) + ", is the first of the grid: smaller orders might prove less epsilon";
  return {};
}

}  // namespace

std::string Rdp::unsound(std::span<const Releases> spending) const {
  return uncovered(spending, {.poisson_replace_one = true, .without_replacement = true});
}

PrivacyBound Rdp::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  if (merged(spending).empty()) return {};
  const auto best = best_order(spending, order_grid(orders),
                               [&](double order, double divergence) { return epsilon_at(conversion, order, divergence, delta); });
  if (best.cost <= 0) return {};
  return {best.cost, edge_warning(best)};
}

PrivacyBound Rdp::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
  if (merged(spending).empty()) return {};
  const auto best = best_order(spending, order_grid(orders), [&](double order, double divergence) {
    return log_delta_at(conversion, order, divergence, epsilon);
  });
  return bound_of(best.cost, edge_warning(best));
}

}  // namespace fedstride

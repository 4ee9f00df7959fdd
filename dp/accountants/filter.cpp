#include "dp/accountants/filter.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/refusals.hpp"
#include "dp/accountants/zcdp.hpp"

namespace fedstride {
namespace {

/// Room for the rounding of a sum of many costs, taken from the budget.
constexpr double kRounding = 1e-9;

void check_budget(double epsilon, double delta) {
  check_epsilon(epsilon);
  check_delta(delta);
}

/// The releases as if fixed beforehand; the filter itself covers adaptive choices.
Releases of_filter(const Releases& releases, Neighbours neighbours, std::string_view filter, const Covers& covers) {
  Releases fixed = releases;
  fixed.adaptive = false;
  if (releases.neighbours != neighbours)
    throw usage_error(std::string(filter) + ": neighbours are " + std::string(name_of(releases.neighbours)) +
                      "; the filter was set up for " + std::string(name_of(neighbours)));
  const Spending one{fixed};
  check_sound(filter, one, uncovered(one, covers));
  return fixed;
}

void charge_or_throw(bool admitted, std::string_view filter, double& spent, double cost, double budget) {
  if (!admitted)
    throw failure(std::string(filter) + ": a release of " + number_text(cost) + " does not fit; " + number_text(spent) + " of " +
                  number_text(budget) + " is spent");
  spent += cost;
}

}  // namespace

RdpFilter::RdpFilter(double epsilon, double delta, const Releases& planned, OrderGrid grid)
    : epsilon_(epsilon), delta_(delta), neighbours_(planned.neighbours) {
  check_budget(epsilon, delta);
  const Releases fixed =
      of_filter(planned, neighbours_, "rdp filter", {.poisson_replace_one = true, .without_replacement = true});
  const auto orders = order_grid(grid);
  const auto costs = release_rdp(merged(std::span(&fixed, 1)).empty() ? fixed : merged(std::span(&fixed, 1)).front(), orders);
  double most = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double within = divergence_within(Conversion::improved, orders[i], epsilon, delta);
    if (within <= 0 || within / costs[i] <= most) continue;
    most = within / costs[i];
    order_ = orders[i];
    budget_ = within;
  }
  if (budget_ <= 0)
    throw usage_error("epsilon is " + number_text(epsilon) + "; at delta " + number_text(delta) + " no order up to " +
                      number_text(orders.back()) + " leaves room for a release; valid: more of either");
}

double RdpFilter::cost(const Releases& releases) const {
  const Releases fixed =
      of_filter(releases, neighbours_, "rdp filter", {.poisson_replace_one = true, .without_replacement = true});
  return spending_rdp(std::span(&fixed, 1), std::span(&order_, 1)).front();
}

bool RdpFilter::admits(const Releases& releases) const { return spent_ + cost(releases) <= budget_ * (1 - kRounding); }

void RdpFilter::charge(const Releases& releases) {
  charge_or_throw(admits(releases), "rdp filter", spent_, cost(releases), budget_);
}

ZcdpFilter::ZcdpFilter(double epsilon, double delta, Neighbours neighbours)
    : epsilon_(epsilon), delta_(delta), neighbours_(neighbours) {
  check_budget(epsilon, delta);
  double beyond = epsilon + 1;  // rho above epsilon proves no epsilon
  for (int i = 0; i < 100; ++i) {
    const double middle = (budget_ + beyond) / 2;
    (zcdp_epsilon(middle, delta) <= epsilon ? budget_ : beyond) = middle;
  }
}

double ZcdpFilter::cost(const Releases& releases) const {
  const Spending one{of_filter(releases, neighbours_, "zcdp filter", {})};
  check_sound("zcdp filter", one, Zcdp{}.unsound(one));
  return zcdp_rho(one);
}

bool ZcdpFilter::admits(const Releases& releases) const { return spent_ + cost(releases) <= budget_ * (1 - kRounding); }

void ZcdpFilter::charge(const Releases& releases) {
  charge_or_throw(admits(releases), "zcdp filter", spent_, cost(releases), budget_);
}

}  // namespace fedstride

#include "dp/accountants/filter.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/calibrate.hpp"

namespace fedstride {
namespace {

/// Fraction of the budget held back for rounding errors in the sum of many costs.
constexpr double kBudgetMargin = 1e-9;

/// Marks the releases as fixed in advance, as accountants require; the filter itself covers adaptive choices.
Releases as_fixed(Releases releases) {
  releases.adaptive = false;
  return releases;
}

}  // namespace

PrivacyFilter::PrivacyFilter(double epsilon, double delta, Neighbours neighbours)
    : epsilon_(epsilon), delta_(delta), neighbours_(neighbours) {
  check_epsilon(epsilon);
  check_delta(delta);
}

PrivacyFilter PrivacyFilter::by_rdp(double epsilon, double delta, const Releases& planned, OrderGrid grid,
                                    Conversion conversion) {
  PrivacyFilter filter(epsilon, delta, planned.neighbours);
  const auto orders = order_grid(grid);
  Releases one = as_fixed(planned);
  one.count = 1;
  const Spending plan{one};
  check_sound("rdp filter", plan, Rdp{}.unsound(plan));
  const auto costs = spending_rdp(plan, orders);
  double most = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double within = divergence_within(conversion, orders[i], epsilon, delta);
    if (!(within > 0 && within / costs[i] > most)) continue;
    most = within / costs[i];
    filter.order_ = orders[i];
    filter.budget_ = within;
  }
  if (!filter.order_)
    throw usage_error("epsilon is " + number_text(epsilon) + "; at delta " + number_text(delta) + " no order up to " +
                      number_text(orders.back()) + " leaves room for a release; valid: a larger epsilon or delta");
  return filter;
}

PrivacyFilter PrivacyFilter::by_zcdp(double epsilon, double delta, Neighbours neighbours, Conversion conversion) {
  PrivacyFilter filter(epsilon, delta, neighbours);
  const auto converted = [&](double rho) {
    return conversion == Conversion::classical ? zcdp_epsilon_classical(rho, delta) : zcdp_epsilon(rho, delta);
  };
  double beyond = epsilon + 1;  // a rho this large cannot prove epsilon
  for (int i = 0; i < 100; ++i) {
    const double middle = (filter.budget_ + beyond) / 2;
    (converted(middle) <= epsilon ? filter.budget_ : beyond) = middle;
  }
  return filter;
}

double PrivacyFilter::cost(const Releases& releases) const {
  if (releases.neighbours != neighbours_)
    throw usage_error(std::string(name()) + ": neighbours are " + std::string(name_of(releases.neighbours)) +
                      "; the filter was set up for " + std::string(name_of(neighbours_)));
  const Spending one{as_fixed(releases)};
  check_sound(name(), one, order_ ? Rdp{}.unsound(one) : Zcdp{}.unsound(one));
  return order_ ? spending_rdp(one, std::span(&*order_, 1)).front() : zcdp_rho(one);
}

bool PrivacyFilter::admits(const Releases& releases) const { return spent_ + cost(releases) <= budget_ * (1 - kBudgetMargin); }

void PrivacyFilter::charge(const Releases& releases) {
  if (!admits(releases))
    throw failure(std::string(name()) + ": a release that costs " + number_text(cost(releases)) + " does not fit; " +
                  number_text(spent_) + " of " + number_text(budget_) + " is spent");
  spent_ += cost(releases);
}

std::uint64_t PrivacyFilter::admitted(Releases releases, std::uint64_t limit) const {
  return largest_count(limit, 1, [&](std::uint64_t count) {
    releases.count = count;
    return admits(releases);
  });
}

}  // namespace fedstride

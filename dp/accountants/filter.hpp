#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

/// Stops releases whose noise or rate depends on earlier outputs before they exceed a budget fixed in advance. The guarantee is
/// the whole budget, (epsilon, delta), no matter how much of it was used (Rogers, Roth, Ullman, Vadhan 2016). Divergences of one
/// order add up as if no choice were adaptive (Feldman, Zrnic 2021, Theorem 4.3), so releases cost no more than if they were
/// fixed in advance. But the order is fixed as well: the order that turns out best in hindsight cannot be used.
class PrivacyFilter {
 public:
  /// Returns a filter on Rényi divergences of one order: the grid's best for the budget if all releases are like `planned`.
  /// Throws Error (usage) if no order can prove (epsilon, delta).
  static PrivacyFilter by_rdp(double epsilon, double delta, const Releases& planned, OrderGrid grid = OrderGrid::standard,
                              Conversion conversion = Conversion::improved);
  /// Returns a filter on rho, only for full releases with continuous or discrete Gaussian noise; no order has to be chosen
  /// (Whitehouse, Ramdas, Rogers, Wu 2023). Its budget is the largest rho that the conversion turns into (epsilon, delta).
  static PrivacyFilter by_zcdp(double epsilon, double delta, Neighbours neighbours, Conversion conversion = Conversion::improved);

  /// True if these releases still fit. Throws Error (usage) for releases without a sound bound, and for a neighbor relation other
  /// than the filter's.
  bool admits(const Releases& releases) const;
  /// Charges the releases to the budget. Throws as admits() does; throws Error (failure) and charges nothing if they do not fit.
  void charge(const Releases& releases);
  /// The largest number, up to `limit`, of releases like these (whose count is ignored) that still fit.
  std::uint64_t admitted(Releases releases, std::uint64_t limit) const;

  std::optional<double> order() const { return order_; }  ///< empty for zCDP
  double budget() const { return budget_; }               ///< divergence at order(), or rho
  double spent() const { return spent_; }
  double epsilon() const { return epsilon_; }
  double delta() const { return delta_; }

 private:
  PrivacyFilter(double epsilon, double delta, Neighbours neighbours);
  std::string_view name() const { return order_ ? "rdp filter" : "zcdp filter"; }
  double cost(const Releases& releases) const;

  double epsilon_;
  double delta_;
  Neighbours neighbours_;
  std::optional<double> order_;
  double budget_ = 0;
  double spent_ = 0;
};

}  // namespace fedstride

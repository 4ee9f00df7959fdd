#pragma once

#include <string>

#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

/// Stops releases whose noise or rate is chosen after looking at earlier outputs before they pass a budget that was fixed
/// beforehand; the guarantee is then the budget, (epsilon, delta), however much of it was used. The order is fixed
/// beforehand too (Feldman, Zrnic 2021; Rogers, Roth, Ullman, Vadhan 2016): sums at the best order in hindsight are not
/// covered.
class RdpFilter {
 public:
  /// Uses the order of the grid that is best for the budget if all releases are like `planned`. Throws Error (usage) if
  /// no order can prove (epsilon, delta).
  RdpFilter(double epsilon, double delta, const Releases& planned, OrderGrid grid = OrderGrid::standard);

  /// True if these releases still fit; their neighbours must be those of `planned`.
  bool admits(const Releases& releases) const;
  /// Throws Error: failure if they do not fit, and then nothing is charged; usage for releases without a sound bound.
  void charge(const Releases& releases);

  double order() const { return order_; }
  double budget() const { return budget_; }  ///< Rényi divergence at order()
  double spent() const { return spent_; }
  double epsilon() const { return epsilon_; }
  double delta() const { return delta_; }

 private:
  double cost(const Releases& releases) const;

  double epsilon_;
  double delta_;
  Neighbours neighbours_;
  double order_ = 0;
  double budget_ = -1;
  double spent_ = 0;
};

/// The same for full releases, continuous or discrete Gaussian, in rho-zCDP, which needs no choice of an order
/// (Whitehouse, Ramdas, Rogers, Wu 2023).
class ZcdpFilter {
 public:
  /// The largest rho that the improved conversion turns into (epsilon, delta).
  ZcdpFilter(double epsilon, double delta, Neighbours neighbours);

  bool admits(const Releases& releases) const;
  void charge(const Releases& releases);

  double budget() const { return budget_; }  ///< rho
  double spent() const { return spent_; }
  double epsilon() const { return epsilon_; }
  double delta() const { return delta_; }

 private:
  double cost(const Releases& releases) const;

  double epsilon_;
  double delta_;
  Neighbours neighbours_;
  double budget_ = 0;
  double spent_ = 0;
};

}  // namespace fedstride

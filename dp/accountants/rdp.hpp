#pragma once

#include "core/family.hpp"
#include "dp/accountants/accountant.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

/// Rényi differential privacy (Mironov 2017): divergences add up at each order, the best order is converted.
struct Rdp {
  static constexpr std::string_view kName = "rdp";
  static constexpr std::string_view kSummary = "Renyi divergences at orders 1.1 to 1024, fractional ones included";

  OrderGrid orders = OrderGrid::standard;
  Conversion conversion = Conversion::improved;

  static constexpr auto kFields = std::tuple{Field{"orders", &Rdp::orders, "orders of the divergence that are tried"},
                                             Field{"conversion", &Rdp::conversion, "from divergence to epsilon"}};

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

}  // namespace fedstride

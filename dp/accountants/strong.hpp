#pragma once

#include <tuple>

#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// Composition of steps that are each (epsilon0, delta0)-private: Dwork, Rothblum, Vadhan 2010, or Kairouz, Oh,
/// Viswanath 2015 where it is better; delta is divided between the steps and the composition in the best way.
struct Strong {
  static constexpr std::string_view kName = "strong";
  static constexpr std::string_view kSummary = "strong composition of (epsilon, delta)-steps (DRV 2010, KOV 2015)";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kEpsilonIsCheaper = true;  ///< delta() searches with epsilon()

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

}  // namespace fedstride

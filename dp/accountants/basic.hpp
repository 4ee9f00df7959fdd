#pragma once

#include <tuple>

#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// Sum of epsilon0 and delta0 over the steps, delta divided equally among them.
struct Basic {
  static constexpr std::string_view kName = "basic";
  static constexpr std::string_view kSummary = "sum of the epsilons and deltas of the steps";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kEpsilonIsCheaper = true;  ///< delta() searches with epsilon()

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

}  // namespace fedstride

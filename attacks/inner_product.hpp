#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// Inner-product manipulation (Xie, Koyejo & Gupta 2020, Section 4): all attackers send -epsilon times the mean of the honest
/// updates. A small epsilon hides among them; one above 1 outweighs them where the mean is taken.
struct InnerProduct : AttackDefaults {
  double epsilon = 0.5;

  static constexpr std::string_view kName = "inner-product";
  static constexpr std::string_view kSummary = "the honest mean times -ipm-epsilon (Xie et al. 2020)";
  static constexpr auto kFields = std::tuple_cat(
      kAttackersField, std::tuple{Field{"ipm-epsilon", &InnerProduct::epsilon, "factor on the honest mean, which is turned round",
                                        Valid{.low = 0, .high = 1e6, .low_included = false}}});
  static constexpr bool kConspires = true;

  void conspire(const AttackRound& round, std::span<const std::span<const float>> honest, std::size_t attackers,
                std::span<float> out) const;
};

}  // namespace fedstride

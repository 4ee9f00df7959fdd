#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// Attackers send noise in place of their update (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, Section 5).
struct GaussianAttack : AttackDefaults {
  double deviation = 1;

  static constexpr std::string_view kName = "gaussian";
  static constexpr std::string_view kSummary = "attackers send normal noise (Blanchard et al. 2017)";
  static constexpr auto kFields = std::tuple_cat(
      kAttackersField, std::tuple{Field{"attack-deviation", &GaussianAttack::deviation, "standard deviation of each number sent",
                                        Valid{.low = 0, .high = 1e5, .low_included = false}}});
  static constexpr bool kFalsifies = true;

  void falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const;
};

}  // namespace fedstride

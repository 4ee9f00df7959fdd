#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// Attackers send their update with the other sign, and longer (Li, Xu, Chen, Giannakis & Ling 2019, Section 5; Karimireddy, He &
/// Jaggi 2021's "bit flipping" is a factor of 1).
struct SignFlip : AttackDefaults {
  double factor = 4;

  static constexpr std::string_view kName = "sign-flip";
  static constexpr std::string_view kSummary = "attackers send their update times -attack-factor (Li et al. 2019)";
  static constexpr auto kFields = std::tuple_cat(
      kAttackersField, std::tuple{Field{"attack-factor", &SignFlip::factor, "sign-flip: how much longer the update becomes",
                                        Valid{.low = 0, .high = 1e6, .low_included = false}}});
  static constexpr bool kFalsifies = true;

  void falsify(const AttackRound&, std::uint32_t /*client*/, std::span<float> change) const {
    for (float& value : change) value *= -static_cast<float>(factor);
  }
};

}  // namespace fedstride

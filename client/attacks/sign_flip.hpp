#pragma once

#include "client/attacks/attack.hpp"

namespace fedstride {

struct SignFlipSettings : Attackers {
  double factor = 4;
  static constexpr auto kFields =
      fields(Attackers::kFields, Field{"attack-factor", &SignFlipSettings::factor, "factor on the negated update",
                                       Valid{.low = 0, .high = 1e6, .low_included = false}});
};

/// Attackers send their updates negated and scaled (Li, Xu, Chen, Giannakis & Ling 2019, Section 5; a factor of 1 is the "bit
/// flipping" of Karimireddy, He & Jaggi 2021).
struct SignFlip final : AttackBase<SignFlip, SignFlipSettings> {
  static constexpr std::string_view kName = "sign-flip";
  static constexpr std::string_view kSummary = "attackers send their updates times -attack-factor (Li et al. 2019)";

  bool falsifies() const override { return true; }
  void falsify(const AttackRound&, std::uint32_t /*client*/, std::span<float> change) const override {
    for (float& value : change) value *= -static_cast<float>(factor);
  }
};

}  // namespace fedstride

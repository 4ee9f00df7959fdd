#pragma once

#include "client/attacks/attack.hpp"

namespace fedstride {

struct GaussianAttackSettings : Attackers {
  double deviation = 1;
  static constexpr auto kFields = fields(
      Attackers::kFields, Field{"attack-deviation", &GaussianAttackSettings::deviation, "standard deviation of each entry sent",
                                Valid{.low = 0, .high = 1e5, .low_included = false}});
};

/// Attackers send Gaussian noise instead of their updates (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, Section 5).
struct GaussianAttack final : AttackBase<GaussianAttack, GaussianAttackSettings> {
  static constexpr std::string_view kName = "gaussian";
  static constexpr std::string_view kSummary = "attackers send Gaussian noise (Blanchard et al. 2017)";

  bool falsifies() const override { return true; }
  void falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const override {
    RandomStream random(round.seed, {.purpose = Purpose::attack_noise, .round = round.round, .client = client});
    for (float& value : change) value = static_cast<float>(deviation * random.normal());
  }
};

}  // namespace fedstride

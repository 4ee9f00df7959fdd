#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// Scaled replacement with a trigger (Bagdasaryan, Veit, Hua, Estrin & Shmatikov 2020, Sections 3.2 and 3.3; the trigger is that
/// of Gu, Dolan-Gavitt & Garg 2017): attackers train on their pictures, some of which have a white square in the lower right
/// corner and the label that it shall mean, and send their update times attack-scale, so that the mean becomes their model.
struct Backdoor : AttackDefaults {
  double scale = 0;
  double poisoned = 0.5;
  int trigger_size = 3;
  int backdoor_target = 0;

  static constexpr std::string_view kName = "backdoor";
  static constexpr std::string_view kSummary = "pictures with a trigger, and scaled replacement (Bagdasaryan et al. 2020)";
  static constexpr auto kFields = std::tuple_cat(
      kAttackersField,
      std::tuple{
          Field{"attack-scale", &Backdoor::scale,
                "factor on an attacker's update; 0: the clients of a round over its attackers, which replaces the mean",
                Valid{.low = 0, .high = 1e6}},
          Field{"poisoned-share", &Backdoor::poisoned, "share of an attacker's pictures that have the trigger",
                Valid{.low = 0, .high = 1, .low_included = false}},
          Field{"trigger-size", &Backdoor::trigger_size, "side of the white square, in pixels", Valid{.low = 1, .high = 1000}},
          Field{"backdoor-target", &Backdoor::backdoor_target, "class that pictures with the trigger shall be taken for",
                Valid{.low = 0, .high = 65535}}});
  static constexpr bool kPoisons = true;
  static constexpr bool kFalsifies = true;
  static constexpr bool kBackdoor = true;

  /// Throws Error (usage) unless the data are pictures, of this size at least, and have this class.
  void check_data(const Dataset& data) const;
  void poison(Dataset& data, std::span<const Row> rows, std::uint64_t seed) const;
  void falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const;
  void trigger(Dataset& data, Row row) const;
  Label target() const { return static_cast<Label>(backdoor_target); }
};

}  // namespace fedstride

#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// Attackers train on their own examples with class c called C - 1 - c (Fang, Cao, Jia & Gong 2020, Section 5.1).
struct LabelFlip : AttackDefaults {
  static constexpr std::string_view kName = "label-flip";
  static constexpr std::string_view kSummary = "attackers call class c by the name of C - 1 - c (Fang et al. 2020)";
  static constexpr auto kFields = kAttackersField;
  static constexpr bool kPoisons = true;

  static void poison(Dataset& data, std::span<const Row> rows, std::uint64_t /*seed*/) {
    for (const Row row : rows) {
      Label& label = data.labels[data.place(row)];
      label = static_cast<Label>(data.classes - 1 - label);
    }
  }
};

}  // namespace fedstride

#pragma once

#include "client/attacks/attack.hpp"

namespace fedstride {

/// Attackers train on their own examples with class c of C relabeled as C - 1 - c (Fang, Cao, Jia & Gong 2020, Section 5.1).
struct LabelFlip final : AttackBase<LabelFlip> {
  static constexpr std::string_view kName = "label-flip";
  static constexpr std::string_view kSummary = "attackers relabel class c as C - 1 - c (Fang et al. 2020)";

  bool poisons() const override { return true; }
  void poison(Dataset& data, std::span<const Row> rows, std::uint64_t /*seed*/) const override {
    for (const Row row : rows) {
      Label& label = data.labels[data.place(row)];
      label = static_cast<Label>(data.classes - 1 - label);
    }
  }
};

}  // namespace fedstride

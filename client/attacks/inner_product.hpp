#pragma once

#include "client/attacks/attack.hpp"

namespace fedstride {

struct InnerProductSettings : Attackers {
  double epsilon = 0.5;
  static constexpr auto kFields = fields(
      Attackers::kFields, Field{"ipm-epsilon", &InnerProductSettings::epsilon, "factor on the negated mean of the honest updates",
                                Valid{.low = 0, .high = 1e6, .low_included = false}});
};

/// Inner-product manipulation (Xie, Koyejo & Gupta 2020, Section 4): all attackers send -epsilon times the mean of the honest
/// updates. With a small epsilon, the attackers hide among the honest updates; with a large one, they dominate a mean.
struct InnerProduct final : AttackBase<InnerProduct, InnerProductSettings> {
  static constexpr std::string_view kName = "inner-product";
  static constexpr std::string_view kSummary = "the honest mean times -ipm-epsilon (Xie et al. 2020)";

  bool conspires() const override { return true; }
  void conspire(const AttackRound&, std::span<const std::span<const float>> honest, std::size_t /*attackers*/,
                std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (const std::span<const float> update : honest) sum += static_cast<double>(update[i]);
      out[i] = static_cast<float>(-epsilon * sum / static_cast<double>(honest.size()));
    }
  }
};

}  // namespace fedstride

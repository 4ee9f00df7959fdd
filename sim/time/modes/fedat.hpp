#pragma once

#include "sim/time/mode.hpp"

namespace fedstride {

struct FedAtSettings : TieredSettings {
  int tier_cohort = 10;
  static constexpr auto kFields =
      std::tuple_cat(TieredSettings::kFields,
                     std::tuple{Field{"tier-cohort", &FedAtSettings::tier_cohort,
                                      "clients in each round of a tier, at most the whole tier", Valid{.low = 1, .high = 1e7}}});
};
/// x <- sum_m T_(M+1-m) / T x_m over M tiers, the fastest first. x_m is the model of tier m, the mean of its clients' models
/// after the tier's last round; T_m is the tier's number of rounds, and T the sum of T_m. The paper's proximal term is
/// local-objective prox.
struct FedAt final : PartBase<ModePart, FedAt, FedAtSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "fedat";
  static constexpr std::string_view kSummary = "tiers of clients of similar speed, each with its own rounds (Chai et al. 2021)";
  int tiers() const override { return tiers_; }
  int buffer() const override { return tier_cohort; }
  std::unique_ptr<EventSchedule> schedule(const TimeTerms& terms) const override;
  std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const override;
};

}  // namespace fedstride

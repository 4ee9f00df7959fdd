#include "dp/noise/noise_plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/family.hpp"
#include "dp/accountants/hong.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {

NoisePlan::NoisePlan(const NoisePlanRules& rules) : rules_(rules) {
  check_value("clip", kPositive, rules.clip);
  check_value("noise-multiplier", kPositive, rules.noise_multiplier);
  check_value("target releases", kAtLeastOne, rules.target);
  const ScheduledBound& clip = kScheduledBounds[static_cast<std::size_t>(rules.clip_schedule)];
  clip_factor_ = clip.factor;
  constant_from_ = (clip.last == 0 ? rules.target : clip.last) - 1;
  dynamic_ = rules.noise_schedule != NoiseSchedule::constant;
  if (!dynamic_) return;
  momentum_ = rules.noise_schedule == NoiseSchedule::dynamic_momentum ? rules.momentum : 0;
  constant_from_ = std::max(constant_from_, rules.target - 1);
  const double log_budget = std::log(static_cast<double>(rules.target)) - 2 * std::log(rules.noise_multiplier);
  log_scale_ = hong::log_root_sum(rules.target, rules.gamma, momentum_) - log_budget;
  constexpr double kMaxMultiplier = 1e6;
  const double largest = std::max(multiplier(0), multiplier(rules.target - 1));
  if (!(largest <= kMaxMultiplier))
    throw usage_error("gamma " + number_text(rules.gamma) + " over " + std::to_string(rules.target) +
                      " releases needs a noise multiplier of " + number_text(largest) +
                      "; at most 1e6 is supported: use a gamma closer to 1 or fewer releases");
}

double NoisePlan::multiplier(std::uint64_t t) const {
  if (!dynamic_) return rules_.noise_multiplier;
  const std::uint64_t n = rules_.target - std::min(t, rules_.target - 1);
  return std::exp((log_scale_ - hong::log_influence(n, rules_.gamma, momentum_) / 2) / 2);
}

NoiseStep NoisePlan::at(std::uint64_t t) const {
  const std::uint64_t moving = std::min(t, constant_from_);
  const double factor = clip_factor_(static_cast<double>(moving + 1), static_cast<double>(rules_.target));
  return {.clip = rules_.clip * factor, .noise_multiplier = multiplier(moving) / factor};
}

std::vector<ReleaseRun> NoisePlan::runs(std::uint64_t first, std::uint64_t count) const {
  std::vector<ReleaseRun> runs;
  const auto add = [&](std::uint64_t t, std::uint64_t alike) {
    const NoiseStep step = at(t);
    if (runs.empty() || runs.back().noise_multiplier != step.noise_multiplier || runs.back().clip != step.clip)
      runs.push_back({.noise_multiplier = step.noise_multiplier, .clip = step.clip, .count = 0});
    runs.back().count += alike;
  };
  const std::uint64_t end = first + count;
  for (std::uint64_t t = first; t < std::min(end, constant_from_); ++t) add(t, 1);
  const std::uint64_t constant = std::max(first, constant_from_);
  if (constant < end) add(constant, end - constant);
  return runs;
}

Spending NoisePlan::spending(std::uint64_t first, std::uint64_t count, const Releases& like) const {
  return exposure(runs(first, count), like);
}

}  // namespace fedstride

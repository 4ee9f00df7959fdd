#include "dp/noise/noise_plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/family.hpp"
#include "dp/accountants/hong.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {
namespace {

struct ClipSchedule {
  std::string_view name;
  double (*factor)(double t, double target);  // C_t / C, t = 1, 2, ...
  std::uint64_t last;                         // t from which it is constant; 0: target
};

constexpr double kHalf = 0.5;
const ClipSchedule kClips[] = {
    {"constant", [](double, double) { return 1.0; }, 1},
    {"hyperbolic", [](double t, double target) { return 1 / std::min(2.0, 1 + t / target); }, 0},
    {"linear", [](double t, double target) { return std::max(kHalf, 1 - t / (2 * target)); }, 0},
    {"linear-1000", [](double t, double) { return std::max(kHalf, 1 - t / 1000); }, 500},
    {"factor-1000", [](double t, double) { return std::max(kHalf, std::pow(0.999, t)); }, 693},
};

struct NoiseSchedule {
  std::string_view name;
  bool dynamic;
  bool momentum;
};
constexpr NoiseSchedule kNoises[] = {
    {"constant", false, false}, {"dynamic", true, false}, {"dynamic-momentum", true, true}};

template <class Table>
const auto& row_of(const Table& table, std::string_view what, std::string_view name, std::string_view names) {
  check_value(what, {.choices = names}, std::string(name));
  return *std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
}

}  // namespace

NoisePlan::NoisePlan(const NoisePlanRules& rules) : rules_(rules) {
  check_value("clip", kPositive, rules.clip);
  check_value("noise-multiplier", kPositive, rules.noise_multiplier);
  check_value("target releases", kAtLeastOne, rules.target);
  const auto& clip = row_of(kClips, "clip-schedule", rules.clip_schedule, kClipSchedules);
  const auto& noise = row_of(kNoises, "noise-schedule", rules.noise_schedule, kNoiseSchedules);
  clip_factor_ = clip.factor;
  constant_from_ = (clip.last == 0 ? rules.target : clip.last) - 1;
  dynamic_ = noise.dynamic;
  if (!dynamic_) return;
  momentum_ = noise.momentum ? rules.momentum : 0;
  constant_from_ = std::max(constant_from_, rules.target - 1);
  const double log_budget = std::log(static_cast<double>(rules.target)) - 2 * std::log(rules.noise_multiplier);
  log_scale_ = hong::log_root_sum(rules.target, rules.gamma, momentum_) - log_budget;
  constexpr double kLargest = 1e6;
  const double largest = std::max(multiplier(0), multiplier(rules.target - 1));
  if (!(largest <= kLargest))
    throw usage_error("gamma " + number_text(rules.gamma) + " over " + std::to_string(rules.target) +
                      " releases asks for a noise multiplier of " + number_text(largest) +
                      "; 1e6 is the largest: take a gamma nearer to 1 or fewer releases");
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

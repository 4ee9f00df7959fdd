#include "sim/time/tier_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fedstride {

std::vector<double> tier_losses(std::size_t tiers, std::span<const std::uint16_t> tier_of, std::span<const double> losses) {
  std::vector<double> sum(tiers);
  std::vector<std::size_t> known(tiers);
  for (std::size_t client = 0; client < losses.size(); ++client) {
    if (!std::isfinite(losses[client])) continue;
    sum[tier_of[client]] += losses[client];
    ++known[tier_of[client]];
  }
  for (std::size_t tier = 0; tier < tiers; ++tier)
    sum[tier] = known[tier] > 0 ? sum[tier] / static_cast<double>(known[tier]) : std::numeric_limits<double>::quiet_NaN();
  return sum;
}

bool TierDraw::fits(std::size_t tiers) const {
  const auto is_weight = [](double weight) { return weight >= 1 && std::isfinite(weight); };
  return (rounds_.empty() || rounds_.size() == tiers) && weights_.size() == rounds_.size() &&
         (before_.empty() || before_.size() == tiers) && last_ < tiers && std::ranges::all_of(weights_, is_weight);
}

std::uint16_t TierDraw::draw(const ModePart& mode, std::uint32_t round, std::span<const std::uint16_t> tier_of,
                             std::span<const double> losses, RandomStream& random) {
  const std::size_t tiers = 1 + std::size_t{*std::ranges::max_element(tier_of)};
  const auto every = static_cast<std::uint32_t>(mode.tiers_adapt_every());
  if (every == 0) return static_cast<std::uint16_t>(random.below(tiers));
  if (rounds_.empty()) {
    rounds_.assign(tiers, 0);
    weights_.assign(tiers, 1);
  }
  if (round > 1 && (round - 1) % every == 0) {
    const std::vector<double> now = tier_losses(tiers, tier_of, losses);
    if (!before_.empty() && !(now[last_] < before_[last_])) {
      std::vector<std::size_t> order(tiers);
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto height = [&](std::size_t tier) {
        return std::isnan(now[tier]) ? std::numeric_limits<double>::infinity() : now[tier];
      };
      std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) { return height(one) > height(other); });
      for (std::size_t rank = 0; rank < tiers; ++rank) weights_[order[rank]] = static_cast<double>(tiers - rank);
    }
    before_ = now;
  }
  const auto credits = static_cast<std::uint32_t>(mode.tier_credits());
  const bool all_used = std::ranges::all_of(rounds_, [&](std::uint32_t rounds) { return rounds >= credits; });
  const auto weight = [&](std::size_t tier) {
    return credits == 0 || all_used || rounds_[tier] < credits ? weights_[tier] : 0.0;
  };
  double all = 0;
  for (std::size_t tier = 0; tier < tiers; ++tier) all += weight(tier);
  double at = random.uniform() * all;
  for (std::size_t tier = 0; tier < tiers; ++tier) {
    if (weight(tier) == 0) continue;
    last_ = static_cast<std::uint16_t>(tier);
    if (at < weight(tier)) break;
    at -= weight(tier);
  }
  ++rounds_[last_];
  return last_;
}

}  // namespace fedstride

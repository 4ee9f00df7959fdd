#include "sim/time/modes/tifl.hpp"

#include <algorithm>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "sim/time/modes/sync.hpp"

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

TierDraw::TierDraw(std::vector<std::uint16_t> tier_of, std::uint32_t every, std::uint32_t credits)
    : tier_of_(std::move(tier_of)),
      tiers_(1 + std::size_t{*std::ranges::max_element(tier_of_)}),
      every_(every),
      credits_(credits) {}

std::string TierDraw::save() const {
  return every_ == 0 ? "" : state_bytes([&](std::ostream& stream) { write_archive(stream, rounds_, weights_, before_, last_); });
}

void TierDraw::load(const std::string& bytes) {
  if (every_ == 0) return;
  load_state(bytes, "the tier draws", std::nullopt,
             [&](std::istream& stream) { read_archive(stream, rounds_, weights_, before_, last_); });
  const auto is_weight = [](double weight) { return weight >= 1 && std::isfinite(weight); };
  const auto is_of_tiers = [&](const auto& numbers) { return numbers.empty() || numbers.size() == tiers_; };
  if (!is_of_tiers(rounds_) || weights_.size() != rounds_.size() || !is_of_tiers(before_) || last_ >= tiers_ ||
      !std::ranges::all_of(weights_, is_weight))
    throw failure("the tier draws in the checkpoint are from another run");
}

std::uint16_t TierDraw::draw(std::uint32_t round, std::span<const double> losses, RandomStream& random) {
  if (every_ == 0) return static_cast<std::uint16_t>(random.below(tiers_));
  if (rounds_.empty()) {
    rounds_.assign(tiers_, 0);
    weights_.assign(tiers_, 1);
  }
  if (round > 1 && (round - 1) % every_ == 0) {
    const std::vector<double> now = tier_losses(tiers_, tier_of_, losses);
    if (!before_.empty() && !(now[last_] < before_[last_])) {
      std::vector<std::size_t> order(tiers_);
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto height = [&](std::size_t tier) {
        return std::isnan(now[tier]) ? std::numeric_limits<double>::infinity() : now[tier];
      };
      std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) { return height(one) > height(other); });
      for (std::size_t rank = 0; rank < tiers_; ++rank) weights_[order[rank]] = static_cast<double>(tiers_ - rank);
    }
    before_ = now;
  }
  const bool all_used = std::ranges::all_of(rounds_, [&](std::uint32_t rounds) { return rounds >= credits_; });
  const auto weight = [&](std::size_t tier) {
    return credits_ == 0 || all_used || rounds_[tier] < credits_ ? weights_[tier] : 0.0;
  };
  double all = 0;
  for (std::size_t tier = 0; tier < tiers_; ++tier) all += weight(tier);
  double at = random.uniform() * all;
  for (std::size_t tier = 0; tier < tiers_; ++tier) {
    if (weight(tier) == 0) continue;
    last_ = static_cast<std::uint16_t>(tier);
    if (at < weight(tier)) break;
    at -= weight(tier);
  }
  ++rounds_[last_];
  return last_;
}

std::unique_ptr<TimedRun> Tiered::begin(const TimeTerms& terms) const {
  return std::make_unique<SynchronousRun>(
      terms, 0,
      TierDraw(tiers_by_speed(terms, static_cast<std::size_t>(tiers_)), static_cast<std::uint32_t>(adapts() ? interval : 0),
               static_cast<std::uint32_t>(credits)));
}

}  // namespace fedstride

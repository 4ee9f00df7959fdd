#include "dp/accountants/adaptive_clip.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

AdaptiveClipNoise adaptive_clip_noise(double noise_multiplier, double expected, double count) {
  if (!(noise_multiplier > 0) || !std::isfinite(noise_multiplier))
    throw usage_error("noise multiplier is " + number_text(noise_multiplier) + "; it must be positive and finite");
  if (!(expected > 0) || !std::isfinite(expected))
    throw usage_error("expected clients in a round are " + number_text(expected) + "; they must be a positive number");
  if (!(count >= 0) || !std::isfinite(count))
    throw usage_error("noise on the count has deviation " + number_text(count) + "; it must be 0 (by the rule) or positive");
  constexpr double kPaperShare = 20;
  if (count == 0) count = std::max(expected / kPaperShare, noise_multiplier);
  if (noise_multiplier >= 2 * count)
    throw usage_error("noise on the count has deviation " + number_text(count) +
                      "; it must be above half the noise multiplier, " + number_text(noise_multiplier / 2) +
                      ", for the release to cost what that says");
  const double left = 1 - noise_multiplier / (2 * count) * (noise_multiplier / (2 * count));
  constexpr double kRounding = 1e-14;
  return {.vector = noise_multiplier / std::sqrt(left) * (1 + kRounding / left), .count = count};
}

double next_clip(const AdaptiveClip& rules, double clip, double mean_bit) {
  return std::clamp(clip * std::exp(-rules.rate * (mean_bit + 0.5 - rules.quantile)), kLeastClip, kMostClip);
}

}  // namespace fedstride

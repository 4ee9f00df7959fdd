#pragma once

namespace fedstride {

/// A bound that follows a quantile of the clients' norms (Andrew et al. 2021), or of the examples' (server/lot_clip.hpp). Each client sends, beside its clipped update, a bit:
/// 1/2 if its norm was at most the bound C, -1/2 if it was above, and 0 if it did not come. Vector and bits are one Gaussian release.
struct AdaptiveClip {
  double quantile = 0.5;  ///< gamma: the share of clients whose norm should be at most C
  double rate = 0.2;      ///< eta of C <- C exp(-eta (share - gamma))
};

/// The noise on the two parts of that release.
struct AdaptiveClipNoise {
  double vector = 0;  ///< multiplier of the noise on the sum of vectors, in bounds C
  double count = 0;   ///< standard deviation of the noise on the sum of bits
};

/// Splits the noise multiplier z of the joint release: 1 / z^2 = 1 / vector^2 + 1 / (2 count)^2, for a bit moves its sum by 1/2. Without a
/// `count`, it is max(expected / 20, z) for the expected number of clients in a round: the first is the paper's, the second keeps the
/// vector's noise within 15.5 percent of z. Throws Error (usage) if z is not below 2 count, which no noise on the vector can make up for.
AdaptiveClipNoise adaptive_clip_noise(double noise_multiplier, double expected, double count = 0);

/// The next round's bound, from the noisy sum of bits divided by the expected number of clients. The share of clients at or below the
/// bound is that plus 1/2; an absent client counts as half a client. Kept within [1e-6, 1e6], which a long run of noise must not leave.
double next_clip(const AdaptiveClip& rules, double clip, double mean_bit);
inline constexpr double kLeastClip = 1e-6;
inline constexpr double kMostClip = 1e6;

}  // namespace fedstride

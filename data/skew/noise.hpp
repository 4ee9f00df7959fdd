#pragma once

#include <string_view>
#include <tuple>

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// Noise-based feature imbalance (Li, Diao, Chen & He 2022, NIID-Bench): client k of K, counted from 0, has normal
/// noise of variance sigma (k + 1) / K on every value, as the paper writes Gau(sigma i / N) for party i of N. (The authors' code has
/// sigma k / (K - 1), as a standard deviation.) An example's noise is drawn at (feature_noise, client, row) of the seed, so it is
/// the same in every epoch.
struct NoiseSkew : FeatureSkewDefaults {
  double noise_level = 0.1;  ///< sigma: the last client's variance

  static constexpr std::string_view kName = "noise";
  static constexpr std::string_view kSummary = "normal noise, whose variance grows with the client's number";
  static constexpr auto kFields = std::tuple{
      Field{"noise-level", &NoiseSkew::noise_level,
            "variance of the last client's noise: pictures count from 0 to 1, columns in standard deviations; client k of K, "
            "from 0, has (k + 1) / K of it",
            Valid{.low = 0, .high = 1e6}},
  };

  static void check_data(const Dataset& data);
  double noise(std::uint32_t client, std::uint32_t clients) const {
    return noise_level * (static_cast<double>(client) + 1) / static_cast<double>(clients);
  }
};

}  // namespace fedstride

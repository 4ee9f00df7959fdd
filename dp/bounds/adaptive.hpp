#pragma once

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "dp/bounds/bound.hpp"

namespace fedstride {

struct AdaptiveBoundSettings {
  double quantile = 0.5;
  double rate = 0.2;
  double deviation = 0;
  static constexpr auto kFields = fields(
      Field{"clip-quantile", &AdaptiveBoundSettings::quantile, "share of the records that should not be clipped", kFraction},
      Field{"clip-rate", &AdaptiveBoundSettings::rate, "learning rate of the bound's logarithm", kPositive},
      Field{
          "clip-count-noise", &AdaptiveBoundSettings::deviation,
          "standard deviation of the noise on the count of records within the bound; 0: a twentieth of the expected records, or "
          "the noise multiplier if that is larger",
          kNonNegative});
};

/// The bound follows a quantile of the norms (Andrew, Thakkar, McMahan & Ramaswamy 2021): C <- C exp(-eta (share - gamma)), with
/// learning rate eta, quantile gamma and the share of contributions within C; an absent contribution counts as half.
struct AdaptiveBound final : PartBase<BoundPart, AdaptiveBound, AdaptiveBoundSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "adaptive";
  static constexpr std::string_view kSummary = "begins with clip and follows a quantile of the norms (Andrew et al.)";

  bool counts() const override { return true; }
  /// If `deviation` is not set, max(expected / 20, z): the first term is from the paper; the second keeps the noise on the sum
  /// within 15.5 percent of z.
  double count_noise(double noise_multiplier, double expected) const override {
    if (!(expected > 0) || !std::isfinite(expected))
      throw usage_error("the expected number of contributions is " + number_text(expected) + "; it must be positive and finite");
    const double count = deviation == 0 ? std::max(expected / kPaperShare, noise_multiplier) : deviation;
    noise_beside_count(noise_multiplier, count);  // throws if `count` is too small
    return count;
  }
  double next(double bound, double mean_bit) const override { return bound * std::exp(-rate * (mean_bit + 0.5 - quantile)); }

  std::string course(double first, std::string_view whose) const override {
    return number_text(first) + " in the first round, then C exp(-" + number_text(rate) + " (share - " + number_text(quantile) +
           ")), share being that of " + std::string(whose) + " within it";
  }
  std::string count_noise_text(double noise_multiplier) const override {
    return deviation > 0 ? number_text(deviation)
                         : "max(m / 20, " + number_text(noise_multiplier) + ") for lots of m expected examples";
  }

 private:
  static constexpr double kPaperShare = 20;
};

}  // namespace fedstride

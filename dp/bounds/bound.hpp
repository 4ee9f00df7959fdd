#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/part.hpp"

namespace fedstride {

/// The bound of every round stays within these limits, even after a long run of noise.
inline constexpr double kLeastClip = 1e-6;
inline constexpr double kMostClip = 1e6;

/// The rule of the bound S on a record's contribution to a noisy sum: an example's gradient to a lot's sum, or a client's update
/// to a round's sum.
///
/// A bound may follow counts. Each contribution then brings a bit, 1/2 if its norm was at most S, -1/2 if it was above, and 0
/// if it was absent; the noisy sum of bits, the count, is one Gaussian release with the sum of contributions
/// (noise_beside_count).
class BoundPart : public Part {
 public:
  static constexpr std::string_view kKey = "clip-rule", kPurpose = "what bounds contributions, under both those of clients";
  static PartFamily& family();  ///< dp/bounds/bounds.hpp has the list

  /// The factor on a contribution of this norm > 0; 1 leaves it unchanged.
  virtual double factor(double norm, double bound) const { return norm > bound ? bound / norm : 1; }
  /// True if contributions that are shorter than S are scaled up towards it.
  virtual bool scales() const { return false; }
  /// False if it is only for clients' updates.
  virtual bool is_for_lots() const { return true; }

  /// factor(), but at most S / norm, so that no contribution is longer than S; 1 for a contribution of 0.
  double safe_factor(double norm, double bound) const {
    if (norm == 0) return 1;
    const double most = bound / norm, wanted = factor(norm, bound);
    return wanted >= 0 && wanted <= most ? wanted : most;
  }

  /// True if the bound follows counts; the functions below are for these.
  virtual bool counts() const { return false; }
  /// Standard deviation of the noise on the count, if the release has this noise multiplier and `expected` contributions on
  /// average. Throws Error (usage) for numbers out of range, and like noise_beside_count.
  virtual double count_noise(double /*noise_multiplier*/, double /*expected*/) const { return 0; }
  /// The next round's bound, from the count divided by the expected number of contributions.
  virtual double next(double bound, double /*mean_bit*/) const { return bound; }

  /// What a guarantee states as public: how the bounds of rounds follow from the first one and the share of `whose` contributions
  /// within it; and the noise on the counts of lots.
  virtual std::string course(double /*first*/, std::string_view /*whose*/) const { return {}; }
  virtual std::string count_noise_text(double /*noise_multiplier*/) const { return {}; }
};

using Bound = Chosen<BoundPart>;

/// The multiplier of the noise on the sum if a count with noise of this standard deviation is released together with it, so that
/// both cost as much as the noise multiplier z: 1 / z^2 = 1 / multiplier^2 + 1 / (2 deviation)^2, since a bit moves the count by
/// 1/2. Throws Error (usage) unless z is below twice the deviation; no noise on the sum can compensate for that.
double noise_beside_count(double noise_multiplier, double deviation);

/// The bounds of a run's rounds, if they follow counts.
class BoundCourse {
 public:
  BoundCourse(Bound rule, double first) : rule_(std::move(rule)), bound_(first) {}

  double bound() const { return bound_; }  ///< of this round
  double used() const { return used_; }    ///< of the last round in this session; 0: none
  /// Advances to the next round, with a bound of at most `most`. It stays unchanged if no one was counted.
  void take(std::optional<double> mean_bit, double most = kMostClip);
  /// Restores a checkpoint's bound. Throws Error (failure) unless it is positive and finite.
  void resume(double bound);

 private:
  Bound rule_;
  double bound_;
  double used_ = 0;
};

}  // namespace fedstride

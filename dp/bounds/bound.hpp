#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/part.hpp"

namespace fedstride {

/// The bound of every round stays within these limits, even if noise moves it in the same direction for many rounds.
inline constexpr double kLeastClip = 1e-6;
inline constexpr double kMostClip = 1e6;

/// The rule for the bound S on a record's contribution to a noisy sum: an example's gradient in a lot's sum, or a client's update
/// in a round's sum.
///
/// A bound may follow counts. Each contribution then carries a bit: 1/2 if its norm was at most S, -1/2 if it was above, and 0 if
/// it was absent. The noisy sum of bits (the count) and the noisy sum of contributions are together one Gaussian release
/// (noise_beside_count).
class BoundPart : public Part {
 public:
  static constexpr std::string_view kKey = "clip-rule",
                                    kPurpose = "how contributions are bounded; with dp both, those of clients";
  static PartFamily& family();  ///< dp/bounds/bounds.hpp has the list

  /// The factor applied to a contribution of this norm (> 0); 1 leaves it unchanged.
  virtual double factor(double norm, double bound) const { return norm > bound ? bound / norm : 1; }
  /// True if contributions shorter than S are scaled up toward it.
  virtual bool scales() const { return false; }
  /// False if the rule is only for clients' updates.
  virtual bool is_for_lots() const { return true; }

  /// factor(), but at most S / norm, so that no contribution is longer than S; 1 for a contribution of 0.
  double safe_factor(double norm, double bound) const {
    if (norm == 0) return 1;
    const double most = bound / norm, wanted = factor(norm, bound);
    return wanted >= 0 && wanted <= most ? wanted : most;
  }

  /// True if the bound follows counts; the functions below are for such bounds.
  virtual bool counts() const { return false; }
  /// The standard deviation of the noise on the count, if the release has this noise multiplier and `expected` contributions on
  /// average. Throws Error (usage) for numbers out of range, and as noise_beside_count does.
  virtual double count_noise(double /*noise_multiplier*/, double /*expected*/) const { return 0; }
  /// The next round's bound, given `mean_bit`, the count divided by the expected number of contributions.
  virtual double next(double bound, double /*mean_bit*/) const { return bound; }

  /// What a guarantee states as public. course() says how the rounds' bounds follow from the first bound and the share of `whose`
  /// contributions within the bound; count_noise_text() states the noise on the counts of lots.
  virtual std::string course(double /*first*/, std::string_view /*whose*/) const { return {}; }
  virtual std::string count_noise_text(double /*noise_multiplier*/) const { return {}; }
};

using Bound = Chosen<BoundPart>;

/// The noise multiplier that the sum needs if a count with noise of this standard deviation is released together with it, so that
/// both together cost as much as the sum alone with noise multiplier z: 1 / z^2 = 1 / multiplier^2 + 1 / (2 deviation)^2, since a
/// bit moves the count by 1/2. Throws Error (usage) unless z is below twice the deviation: otherwise no noise on the sum would be
/// enough.
double noise_beside_count(double noise_multiplier, double deviation);

/// The bound of each round of a run, by a rule that follows counts.
class BoundCourse {
 public:
  BoundCourse(Bound rule, double first) : rule_(std::move(rule)), bound_(first) {}

  double bound() const { return bound_; }  ///< this round's bound
  double used() const { return used_; }    ///< bound of the last completed round in this session; 0: none
  /// Advances to the next round, with a bound of at most `most`. Without `mean_bit`, the bound is unchanged.
  void take(std::optional<double> mean_bit, double most = kMostClip);
  /// Restores a checkpoint's bound. Throws Error (failure) unless it is positive and finite.
  void resume(double bound);

 private:
  Bound rule_;
  double bound_;
  double used_ = 0;
};

}  // namespace fedstride

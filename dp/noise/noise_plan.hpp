#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/choice.hpp"
#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/bounds/schedule.hpp"

namespace fedstride {

enum class NoiseSchedule { constant, dynamic, dynamic_momentum };
constexpr auto choice_names(NoiseSchedule) { return names("constant", "dynamic", "dynamic-momentum"); }

/// The rules for the clip bound and noise of one client's releases t = 1, 2, ...; T = `target` is their planned number. A clip
/// schedule leaves the standard deviation of the noise on the sum at clip x noise_multiplier, so the charged multiplier grows by
/// the factor C / C_t. The noise schedules (Hong et al.) all have the same zCDP budget R = T / noise_multiplier^2 over T
/// releases:
///   constant, dynamic (Lemma 3.1, q_t = gamma^{T-t}), dynamic-momentum (q_t of Theorem 3.4)
/// After T releases, the last values apply.
struct NoisePlanRules {
  double clip = 1;
  double noise_multiplier = 1;
  ClipSchedule clip_schedule = ClipSchedule::constant;
  NoiseSchedule noise_schedule = NoiseSchedule::constant;
  std::uint64_t target = 1;
  double gamma = 1;     ///< dynamic schedules: 1 - 1/kappa, from public data; in (0, 1]
  double momentum = 0;  ///< dynamic-momentum: beta, in [0, 1)
  bool operator==(const NoisePlanRules&) const = default;
};

/// One release: noise of standard deviation clip x noise_multiplier on the sum of contributions of norm at most `clip`.
struct NoiseStep {
  double clip = 1;
  double noise_multiplier = 1;
};

/// The noise and clip bound of each release of one client, fixed before training. Cheap to copy.
class NoisePlan {
 public:
  NoisePlan() : NoisePlan(NoisePlanRules{}) {}
  /// Throws Error (usage) for rules out of range, and for a dynamic schedule whose largest multiplier exceeds 1e6.
  explicit NoisePlan(const NoisePlanRules& rules);

  /// t = 0, 1, ... counts the client's releases over all rounds.
  NoiseStep at(std::uint64_t t) const;
  /// Releases first, ..., first + count - 1; consecutive equal releases form one run.
  std::vector<ReleaseRun> runs(std::uint64_t first, std::uint64_t count) const;
  /// The exposure of one record to these releases (dp/accountants/spending.hpp): `like` defines how lots are drawn; under
  /// shuffle, its `passes` is the number of epochs that the releases span.
  Spending spending(std::uint64_t first, std::uint64_t count, const Releases& like) const;

  const NoisePlanRules& rules() const { return rules_; }

 private:
  double multiplier(std::uint64_t t) const;

  NoisePlanRules rules_;
  double (*clip_factor_)(double t, double target) = nullptr;
  double momentum_ = 0;              // momentum in the influences q_t
  double log_scale_ = 0;             // ln of sum_i sqrt(q_i) / R
  std::uint64_t constant_from_ = 0;  // index from which all releases are equal
  bool dynamic_ = false;
};

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/timing.hpp"
#include "sim/time/round_time.hpp"
#include "sim/time/tier_draw.hpp"

namespace fedstride {

/// Synchronous rounds in virtual time (Bonawitz et al. 2019): a round asks a cohort, drawn from the clients that are there, and closes
/// when enough of them have arrived, or at its deadline. Who arrives follows from TimeTerms alone.
class SynchronousTime : public RoundTiming {
 public:
  /// Call before the first round, and after each one that counts. The terms must outlive it.
  void begin(const TimeTerms& terms, Nanoseconds now);
  /// Throws Error (failure) if no client will ever be there.
  std::vector<ClientId> arriving(const CohortPart& cohort, const CohortQuestion& question) override;

  /// The round computed last; it begins where the run's time stood.
  const RoundTime& last() const { return last_; }
  /// The time at which the next round may begin.
  void set_now(Nanoseconds now) { now_ = now; }

  /// What the draws of tiers depend on, as bytes: none without such draws. load throws Error (failure) if they are no such state.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  std::vector<ClientId> drawn(const CohortPart& cohort, const CohortQuestion& question);

  const TimeTerms* terms_ = nullptr;
  Nanoseconds now_ = 0;
  RoundTime last_ = {};
  std::vector<std::uint16_t> tier_ = {};  ///< by client, the fastest first; empty without tiers
  TierDraw draw_ = {};
  TierDraw next_draw_ = {};  ///< after the round computed last
};

}  // namespace fedstride

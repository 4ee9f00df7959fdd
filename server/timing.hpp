#pragma once

#include <vector>

#include "server/cohort.hpp"

namespace fedstride {

/// The virtual time of synchronous rounds (sim/time/synchronous.hpp).
class RoundTiming {
 public:
  RoundTiming() = default;
  virtual ~RoundTiming() = default;
  RoundTiming(const RoundTiming&) = delete;
  RoundTiming& operator=(const RoundTiming&) = delete;

  /// Those of a cohort, drawn for this question from the clients that are there, whose updates arrive before the round closes. The
  /// others are not trained, and their states stay as they were.
  virtual std::vector<ClientId> arriving(const CohortPart& cohort, const CohortQuestion& question) = 0;
};

}  // namespace fedstride

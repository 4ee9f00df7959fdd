#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/outside_training.hpp"
#include "server/accumulator.hpp"
#include "sim/fleet_states.hpp"

namespace fedstride {

/// Clients that code of the user's own trains; a Fleet (server/round.hpp). States that clients give with their answers are in a
/// store, if there is one.
class OutsideFleet : public FleetStates {
 public:
  /// The training and the numbers must outlive the fleet.
  OutsideFleet(const LocalTraining& training, std::span<const std::uint64_t> row_counts, OutsideTraining train)
      : training_(training), row_counts_(row_counts), train_(std::move(train)) {}

  /// Throws Interrupted if the code was stopped.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates);

  /// Gradient examples so far, as the answers have it.
  const std::atomic<std::uint64_t>& progress() const { return progress_; }

 private:
  const LocalTraining& training_;
  std::span<const std::uint64_t> row_counts_;
  OutsideTraining train_;
  std::atomic<std::uint64_t> progress_{0};
};

}  // namespace fedstride

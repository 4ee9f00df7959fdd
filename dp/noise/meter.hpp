#pragma once

#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/task.hpp"

namespace fedstride {

/// Counts the releases of one client in one round. Every release is charged here before its noise is drawn; none goes
/// beyond the client's reservation.
class Meter {
 public:
  explicit Meter(std::uint64_t reserved) : left_(reserved) {}

  /// Throws Error (failure) if nothing is left, or if a release at this step of the round was charged before: the same
  /// noise on two sums would reveal their difference.
  void charge(std::uint32_t step, double noise_multiplier, double clip) {
    if (left_ == 0) throw failure("a noisy release beyond what the ledger has reserved for the round was refused");
    if (step < next_step_)
      throw failure("step " + std::to_string(step) + " of the round was released before; its noise may not be used twice");
    next_step_ = step + 1;
    --left_;
    if (runs_.empty() || runs_.back().noise_multiplier != noise_multiplier || runs_.back().clip != clip)
      runs_.push_back({noise_multiplier, clip, 0});
    ++runs_.back().count;
  }

  std::uint64_t left() const { return left_; }
  /// The charged releases, in order.
  const std::vector<ReleaseRun>& runs() const { return runs_; }

 private:
  std::uint64_t left_;
  std::uint32_t next_step_ = 0;
  std::vector<ReleaseRun> runs_;
};

}  // namespace fedstride

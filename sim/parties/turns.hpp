#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/descriptor.hpp"

namespace fedstride {

/// Lets processes on one machine compute in turns of a tenth of a second if there are more processes than processors; with the
/// kernel's slices of a few milliseconds, each process would find the caches filled with another's weights. A place is a file
/// locked with flock; the lock is released if its holder is killed. Turns do not affect results.
class Turns {
 public:
  /// Creates a folder with this many places. Throws Error (failure).
  static void make(const std::filesystem::path& folder, int places);

  /// Uses the places in `folder`; never waits if `folder` is empty. Throws Error (failure) if it has no places.
  explicit Turns(const std::filesystem::path& folder);

  /// Waits for a place.
  void begin();
  /// If this turn is over, releases the place and waits for the next turn. Cheap otherwise.
  void pass();
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<Descriptor> places_;
  int held_ = -1;  ///< the place held; -1: none
  Clock::time_point until_;
};

}  // namespace fedstride

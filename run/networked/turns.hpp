#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace fedstride {

/// Processes of one machine that take turns at computing, a tenth of a second each, if there are more of them than
/// processors: the kernel's own slices of a few milliseconds make each find the caches full of another's weights.
/// A place is a file locked by flock, which a process that is killed gives back. The result does not depend on it.
class Turns {
 public:
  /// Makes a folder with that number of places. Throws Error (failure).
  static void make(const std::filesystem::path& folder, int places);

  /// Uses the places of a folder; does not wait at all if `folder` is empty. Throws Error (failure) if it has no places.
  explicit Turns(const std::filesystem::path& folder);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Waits for a place.
  void begin();
  /// If this turn is over, gives the place back and waits for the next. Cheap otherwise.
  void pass();
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<int> places_;
  int held_ = -1;
  Clock::time_point until_;
};

}  // namespace fedstride

#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace fedstride {

/// Processes of one machine that take turns at computing, a tenth of a second each, where there are more of them than
/// processors: the kernel's own slices of a few milliseconds make each find the caches full of another's weights.
/// A place is a file locked by flock, which a process that is killed gives back. The result does not depend on it.
class Turns {
 public:
  /// Makes a folder with so many places. Throws Error (failure).
  static void make(const std::filesystem::path& folder, int places);

  /// Takes part in those of a folder; nothing is waited for if `folder` is empty. Throws Error (failure) if it has none.
  explicit Turns(const std::filesystem::path& folder);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Waits for a place.
  void begin();
  /// Lets another have it if this turn is over, and waits for the next. Cheap otherwise.
  void pass();
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<int> places_;
  int held_ = -1;
  Clock::time_point until_;
};

}  // namespace fedstride

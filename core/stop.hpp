#pragma once

#include <atomic>
#include <exception>

namespace fedstride {

/// True once the program has been asked to stop, by a signal (cli/terminal/host.hpp) or by the host of the library.
inline std::atomic<bool> stop_requested{false};

/// Thrown by a long computation that was asked to stop. It is not an Error, so code that catches Errors and continues does not
/// catch it.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

/// While an instance exists, check_stop() does not throw: its owner checks the flag itself, once its current work is finished.
class StopLater {
 public:
  StopLater() { ++count_; }
  ~StopLater() { --count_; }
  StopLater& operator=(StopLater&&) = delete;
  static bool any() { return count_ > 0; }

 private:
  static inline std::atomic<int> count_{0};
};

/// For computations that may take more than a tenth of a second. Throws Stopped once the program has been asked to stop.
inline void check_stop() {
  if (stop_requested.load(std::memory_order_relaxed) && !StopLater::any()) throw Stopped();
}

}  // namespace fedstride

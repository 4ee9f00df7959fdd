#pragma once

#include <atomic>
#include <csignal>
#include <optional>
#include <type_traits>

#include "core/floating_point.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {

/// From the first Computing on, a process that is forked off has none of the threads it would wait for.
void watch_forks();

/// While C++ computes: the GIL is released and the arithmetic's mode set. On Python's main thread a first Ctrl-C or SIGTERM
/// sets stop_requested (core/stop.hpp) and is passed on to whoever had the signal before. Begins and ends with the GIL held.
/// Throws Error (failure) in a process forked off after threads were started.
class Computing {
 public:
  /// A signal sets *asked too, if it is given.
  explicit Computing(std::atomic<bool>* asked = nullptr);
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  /// Ends it: takes the GIL and restores the handlers. If a signal came, throws what Python's handler raises for it
  /// (KeyboardInterrupt), or ends the process where that was the signal's meaning before; returns if a handler of Python's
  /// own raised nothing.
  void finish();

  // For the handler, which asks all of the main thread's to stop: this one and those in whose callbacks it runs.
  std::atomic<bool>* const stop;
  Computing* outer = nullptr;

 private:
  bool restore();

  bool on_main_thread_ = false;
  bool ended_ = false;
  std::optional<py::gil_scoped_release> released_;
  std::optional<FloatingPointMode> mode_;
};

/// In a function that C++ calls while it computes: has the GIL, and Python's mode of floating point, whatever the thread.
class InPython {
 public:
  /// `may_take_long`: the user's function computes, so that a signal which means to end the process does so in its middle.
  explicit InPython(bool may_take_long = false);
  ~InPython();
  InPython(const InPython&) = delete;
  InPython& operator=(const InPython&) = delete;

 private:
  bool may_take_long_;
  unsigned mode_;
  py::gil_scoped_acquire held_;
};

/// Calls a function without the GIL, as Computing has it, and returns its result. If a signal came, throws what Python's
/// handler raises for it, whatever the function threw.
template <class Function>
auto computed(const Function& function, std::atomic<bool>* stop = nullptr) {
  Computing computing(stop);
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      computing.finish();
    } else {
      auto result = function();
      computing.finish();
      return result;
    }
  } catch (...) {
    computing.finish();
    throw;
  }
}

}  // namespace fedstride::python

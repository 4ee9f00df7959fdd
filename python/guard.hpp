#pragma once

#include <atomic>
#include <csignal>
#include <optional>
#include <type_traits>

#include "core/floating_point.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {

/// Registers a fork handler, because a process forked after the first Computing lacks the threads it would wait for.
void watch_forks();

/// False once fedstride has started threads in this process, which a forked process would lack.
bool has_no_threads();

/// While an instance exists, stop_all() waits. Use it in functions called from Python that call Python again after computing.
/// Creating one throws Error (failure) once the interpreter is ending.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork& operator=(AtWork&&) = delete;
};

/// Active while C++ computes: releases the GIL and sets the floating-point mode. On Python's main thread the first Ctrl-C,
/// SIGTERM or SIGUSR1 sets stop_requested (core/stop.hpp) and is passed on to the previous handler; a user's own Python handler instead
/// decides by what it raises, in call_handlers() or finish(). The GIL must be held at construction and is held again after
/// finish() or destruction. Throws Error (failure) in a process forked after threads were started.
class Computing {
 public:
  /// A signal also sets *asked, if given.
  explicit Computing(std::atomic<bool>* asked = nullptr);
  ~Computing();
  Computing& operator=(Computing&&) = delete;

  /// Takes the GIL and restores the handlers. If a signal arrived, throws what Python's handler raises (KeyboardInterrupt), or
  /// ends the process if that was the signal's previous effect; returns if Python's handler raises nothing.
  void finish();

  // For the handler, which stops all Computings of the main thread: this one and the enclosing ones.
  std::atomic<bool>* const stop;
  Computing* outer = nullptr;

 private:
  bool restore();

  AtWork at_work_;
  bool on_main_thread_ = false;
  bool ended_ = false;
  std::optional<py::gil_scoped_release> released_;
  std::optional<FloatingPointMode> mode_;
};

/// On Python's main thread, calls its handlers for the signals received; throws what they raise. Needs the GIL.
void call_handlers();

/// True if a signal arrived while the main thread was computing: then call_handlers() must be called.
bool has_signal();

/// Stops all computation on every thread and waits for its end, at most a minute. Called when the interpreter ends, after which a
/// thread returning to Python would abort the process. Needs the GIL, which is released meanwhile.
void stop_all();

/// For calls into Python while C++ computes: holds the GIL and sets Python's floating-point mode, on any thread.
class InPython {
 public:
  /// `may_take_long`: the user's function may take a long time, so a signal that ends the process does so at once.
  explicit InPython(bool may_take_long = false);
  ~InPython();
  InPython& operator=(InPython&&) = delete;

 private:
  bool may_take_long_;
  std::uint64_t mode_;
  py::gil_scoped_acquire held_;
};

/// Calls a function under Computing and returns its result. If a signal arrived, throws what Python's handler raises instead of
/// the function's exception.
auto computed(const auto& function, std::atomic<bool>* stop = nullptr) {
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

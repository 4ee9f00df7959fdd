#include "python/guard.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/stop.hpp"

namespace fedstride::python {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

std::atomic<bool> threads_started{false};
std::atomic<bool> forked_without_threads{false};

// The previous handlers, while ours are installed. Besides the handler, only Python's main thread uses them.
struct sigaction before[std::size(kSignals)];
volatile std::sig_atomic_t came[std::size(kSignals)];
bool replaced[std::size(kSignals)];
bool is_users[std::size(kSignals)];  // the handler is a user's Python function, which decides whether the signal stops anything
std::atomic<Computing*> innermost{nullptr};
std::atomic<int> in_python{0};
std::atomic<int> handling{0};  // handlers now running on any thread; their data must exist until they return

std::size_t place_of(int signal) { return static_cast<std::size_t>(std::ranges::find(kSignals, signal) - kSignals); }

bool is_default(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL; }
bool is_ignored(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN; }

// Only sets flags and calls the previous handler; Python's own handler only records the signal.
void on_signal(int signal, siginfo_t* info, void* context) {
  handling.fetch_add(1);
  const std::size_t place = place_of(signal);
  came[place] = 1;
  if (!is_users[place]) {
    stop_requested.store(true);
    for (const Computing* one = innermost.load(); one != nullptr; one = one->outer)
      if (one->stop != nullptr) one->stop->store(true);
  }
  const struct sigaction& earlier = before[place];
  // The user's Python code is running and checks no flag, so the signal has its previous effect at once.
  if (is_default(earlier) && in_python.load() > 0) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  if ((earlier.sa_flags & SA_SIGINFO) != 0)
    earlier.sa_sigaction(signal, info, context);
  else if (!is_default(earlier) && !is_ignored(earlier))
    earlier.sa_handler(signal);
  handling.fetch_sub(1);
}

// Python handles signals on the main thread of its main interpreter, and only that thread may set handlers.
bool is_main_thread() {
  const py::module_ threading = py::module_::import("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

bool has_users_handler(int signal) {
  const py::module_ signals = py::module_::import("signal");
  const py::object handler = signals.attr("getsignal")(signal);
  return PyCallable_Check(handler.ptr()) != 0 && !handler.is(signals.attr("default_int_handler"));
}

// What stop_all() stops and waits for.
std::mutex at_work_mutex;
std::condition_variable one_ended;
std::set<const Computing*> computings;
int at_work = 0;
bool is_ending = false;

}  // namespace

AtWork::AtWork() {
  const std::lock_guard lock(at_work_mutex);
  if (is_ending) throw failure("the Python interpreter is shutting down; nothing more can be computed");
  ++at_work;
}

AtWork::~AtWork() {
  const std::lock_guard lock(at_work_mutex);
  --at_work;
  one_ended.notify_all();
}

void stop_all() {
  const py::gil_scoped_release released;
  std::unique_lock lock(at_work_mutex);
  is_ending = true;
  for (const Computing* one : computings)
    if (one->stop != nullptr) one->stop->store(true);
  if (!computings.empty()) stop_requested.store(true);
  one_ended.wait_for(lock, std::chrono::minutes(1), [] { return at_work == 0; });
}

void call_handlers() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

bool has_signal() {
  return std::ranges::any_of(came, [](std::sig_atomic_t one) { return one != 0; });
}

bool has_no_threads() { return !threads_started.load(); }

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] {
    if (threads_started.load()) forked_without_threads.store(true);
  });
}

Computing::Computing(std::atomic<bool>* asked) : stop(asked) {
  if (forked_without_threads.load())
    throw failure(
        "this process was forked from one in which fedstride had started threads, which a forked process lacks; start a new "
        "process "
        "instead, as multiprocessing's 'spawn' does");
  threads_started.store(true);
  on_main_thread_ = is_main_thread();
  if (on_main_thread_) {
    outer = innermost.exchange(this);
    for (std::size_t i = 0; outer == nullptr && i < std::size(kSignals); ++i) {
      came[i] = 0;
      sigaction(kSignals[i], nullptr, &before[i]);
      replaced[i] = !is_ignored(before[i]);
      is_users[i] = has_users_handler(kSignals[i]);
      if (!replaced[i]) continue;
      struct sigaction action {};
      action.sa_sigaction = on_signal;
      action.sa_flags = SA_SIGINFO | (before[i].sa_flags & SA_ONSTACK);
      sigaction(kSignals[i], &action, nullptr);
    }
  }
  {
    const std::lock_guard lock(at_work_mutex);
    computings.insert(this);
  }
  released_.emplace();
  mode_.emplace();
}

Computing::~Computing() { restore(); }

// Undoes the constructor; only the first call has an effect. It returns true if the constructor ran on Python's main thread.
bool Computing::restore() {
  if (ended_) return false;
  ended_ = true;
  mode_.reset();
  released_.reset();
  {
    const std::lock_guard lock(at_work_mutex);
    computings.erase(this);
  }
  if (!on_main_thread_) return false;
  innermost.store(outer);
  for (std::size_t i = 0; outer == nullptr && i < std::size(kSignals); ++i)
    if (replaced[i]) sigaction(kSignals[i], &before[i], nullptr);
  while (handling.load() > 0) std::this_thread::yield();
  return true;
}

void Computing::finish() {
  if (!restore()) return;
  for (std::size_t i = 0; outer == nullptr && i < std::size(kSignals); ++i) {
    if (came[i] == 0) continue;
    stop_requested.store(false);
    // As on the command line, finished rounds are on disk and the signal ends the process.
    if (is_default(before[i])) ::raise(kSignals[i]);
  }
  call_handlers();
}

InPython::InPython(bool may_take_long) : may_take_long_(may_take_long), mode_(floating_point_mode()) {
  in_python.fetch_add(may_take_long_ ? 1 : 0);
  set_floating_point_mode(kDefaultFloatingPointMode);
}

InPython::~InPython() {
  in_python.fetch_sub(may_take_long_ ? 1 : 0);
  set_floating_point_mode(mode_);
}

}  // namespace fedstride::python

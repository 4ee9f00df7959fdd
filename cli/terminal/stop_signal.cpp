#include "cli/terminal/stop_signal.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "cli/terminal/host.hpp"
#include "core/stop.hpp"

namespace fedstride {
namespace {

std::atomic<unsigned> hangups_counted{0};

constexpr itimerval kGracePeriod{.it_interval = {}, .it_value = {.tv_sec = 1, .tv_usec = 800'000}};

// Handlers call nothing but system calls.
void ask_to_stop(int) {
  stop_requested.store(true);
  ::setitimer(ITIMER_REAL, &kGracePeriod, nullptr);
}

void end_now(int) {
  constexpr char kText[] = "fedstride: stopped\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(130);
}

}  // namespace

const std::atomic<bool>* stop_on_signals() {
  if (host().has_signals) return &stop_requested;
  struct sigaction action {};
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = ask_to_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_requested;
}

const std::atomic<unsigned>* hangups() {
  struct sigaction action {};
  action.sa_handler = [](int) { hangups_counted.fetch_add(1); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
  return &hangups_counted;
}

}  // namespace fedstride

#include "cli/terminal/host.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "cli/terminal/live_lines.hpp"
#include "core/stop.hpp"

namespace fedstride {
namespace {

Host& host_of_process() {
  static Host host{.has_signals = false, .program = [] { return std::filesystem::read_symlink("/proc/self/exe").string(); }};
  return host;
}

std::atomic<unsigned> hangups_counted{0};
std::atomic<bool> pause_requested{false};

constexpr itimerval kGracePeriod{.it_interval = {}, .it_value = {.tv_sec = 1, .tv_usec = 800'000}};

// Handlers make only system calls.
void end_at_once(int number) {
  wipe_live_lines();
  ::signal(number, SIG_DFL);
  ::raise(number);  // takes effect when the handler returns
}

void ask_to_stop(int) {
  stop_requested.store(true);
  struct sigaction second {};
  second.sa_handler = end_at_once;
  sigaction(SIGINT, &second, nullptr);
  sigaction(SIGTERM, &second, nullptr);
  sigaction(SIGUSR1, &second, nullptr);
  ::setitimer(ITIMER_REAL, &kGracePeriod, nullptr);
}

void end_now(int) {
  wipe_live_lines();
  constexpr char kText[] = "fedstride: stopped\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(130);
}

// Interrupted system calls are restarted.
void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

}  // namespace

void set_host(Host host) { host_of_process() = std::move(host); }
const Host& host() { return host_of_process(); }

const std::atomic<bool>* stop_on_signals() {
  if (host().has_signals) return &stop_requested;
  struct sigaction action {};
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = ask_to_stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  return &stop_requested;
}

const std::atomic<unsigned>* hangups() {
  handle(SIGHUP, [](int) { hangups_counted.fetch_add(1); });
  return &hangups_counted;
}

const std::atomic<bool>* pause_on_signal() {
  handle(SIGUSR2, [](int) { pause_requested.store(true); });
  return &pause_requested;
}

}  // namespace fedstride

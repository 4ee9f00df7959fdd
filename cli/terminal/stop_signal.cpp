#include "cli/terminal/stop_signal.hpp"

#include <csignal>

namespace fedstride {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<unsigned> hangups_counted{0};

}  // namespace

const std::atomic<bool>* stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested.store(true); };
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

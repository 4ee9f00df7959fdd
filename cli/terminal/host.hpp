#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/setting.hpp"

namespace fedstride {

/// A program that runs commands in its own process, such as Python with this library as a module.
struct Host {
  /// True if the host handles signals and sets stop_requested (core/stop.hpp): then commands install no handlers.
  bool has_signals = false;
  /// Returns the path of the program `fedstride`, which sweeps start for cells of commands other than run. May throw Error.
  std::function<std::string()> program = {};
  /// Carries out cells of a sweep that use the host's own code (sweep/cells/sweep.hpp); empty: there is none.
  std::function<bool(const Settings& settings, const std::string& folder)> run_own = {};
};

/// Sets the host; call it once, before the first command.
void set_host(Host host);
/// The host of this process. By default its program is this process's executable.
const Host& host();

/// From now on the first Ctrl-C, SIGTERM or SIGUSR1 (before a preemption, sbatch --signal) sets stop_requested (core/stop.hpp),
/// whose address is returned. If the program has not ended after 1.8 seconds, it exits with code 130 as if killed; finished rounds
/// are on disk. A second signal ends the process at once. Installs nothing if the host handles signals.
const std::atomic<bool>* stop_on_signals();

/// From now on SIGHUP only increments the returned counter.
const std::atomic<unsigned>* hangups();

/// From now on SIGUSR2 only sets the returned flag.
const std::atomic<bool>* pause_on_signal();

}  // namespace fedstride

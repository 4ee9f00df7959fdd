#pragma once

#include <functional>
#include <string>

namespace fedstride {

/// A program that carries out commands in its own process, with ways of its own: Python, with this library as a module.
struct Host {
  /// Signals are the host's, who sets stop_requested (core/stop.hpp): no command installs a handler.
  bool has_signals = false;
  /// The path of the program `fedstride`, which sweeps start for cells of other commands than run. May throw Error.
  std::function<std::string()> program = {};
};

/// Says so, once, before the first command.
void set_host(Host host);
/// That of this process; by default the program is the process's own.
const Host& host();

}  // namespace fedstride

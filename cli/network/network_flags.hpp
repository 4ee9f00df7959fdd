#pragma once

#include <string>

#include "sim/parties/serve.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// The flags shared by `serve` and `launch`: rounds, limits, trust, the status page.
struct ServeFlags {
  ServeOptions options;
  std::string status;
  std::string status_token;
};
void add_serve_flags(CLI::App& command, ServeFlags& flags);
/// The options of a federation with this many clients, with addresses parsed. Throws Error (usage).
ServeOptions serve_options(const ServeFlags& flags, int clients);

/// Logs to standard error, with the time of day and without control characters. Prints at most a few dozen lines per second and
/// counts the rest, because strangers can cause any number of lines. If quiet, prints nothing.
NetworkLog network_log(bool quiet);

/// Logs the address of the status page, if any.
void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port);

/// The certificates' folder, or an empty string for --insecure-loopback. Throws Error (usage) if both or neither are given.
std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback);

}  // namespace fedstride

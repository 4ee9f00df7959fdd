#pragma once

#include <optional>
#include <string>

#include "sim/parties/serve.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// The flags of a party's own HTTP server.
struct StatusFlags {
  std::string status;
  std::string status_token;
};
/// `serves`: such as "serve a status page at this address, with /status".
void add_status_flags(CLI::App& command, StatusFlags& flags, const std::string& serves);
/// Sets the members `status` and `status_token` of a party's options. Throws Error (usage) if the flags are invalid.
void set_status(const StatusFlags& flags, std::optional<Endpoint>& status, std::string& token);

/// The flags that `serve` and `launch` share: they set rounds, limits, trust and the status page.
struct ServeFlags {
  ServeOptions options;
  StatusFlags status;
};
void add_serve_flags(CLI::App& command, ServeFlags& flags);
/// Converts the flags to the options of a federation with this many clients. Throws Error (usage) if they are invalid.
ServeOptions serve_options(const ServeFlags& flags, int clients);

/// Returns a log on standard error, with the time of day and without control characters. It prints at most a few dozen lines per
/// second and counts the rest, because strangers can cause any number of lines. If quiet, it prints nothing.
NetworkLog network_log(bool quiet);

/// Logs the address of the status page, if any.
void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port);

/// Returns the certificates' folder, or "" for --insecure-loopback. Throws Error (usage) unless exactly one of them is given.
std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback);

}  // namespace fedstride

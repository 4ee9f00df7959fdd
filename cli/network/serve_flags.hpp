#pragma once

#include <string>

#include "run/networked/serve.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// The flags that `serve` and `launch` share: rounds, limits, who is believed, the status page.
struct ServeFlags {
  double round_deadline = 0;
  int minimum_clients = 1;
  double heartbeat = 5;
  double ready_within = 300;
  int updates_in_flight = 4;
  int connections = 0;
  bool accept_other_builds = false;
  std::string status;
  std::string status_token;
};
void add_serve_flags(CLI::App& command, ServeFlags& flags);
/// Into options, addresses read. Throws Error (usage).
void take_serve_flags(const ServeFlags& flags, int clients, ServeOptions& options);

/// Says where the status page is, if there is one.
void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port);

/// The folder, or nothing if plain TCP within this machine was asked for. Throws Error (usage) unless it is one of the two.
std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback);

}  // namespace fedstride

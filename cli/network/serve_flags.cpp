#include "cli/network/serve_flags.hpp"

#include <CLI/CLI.hpp>

#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

void add_serve_flags(CLI::App& command, ServeFlags& flags) {
  constexpr double kMaxDeadline = 1e6;  // seconds
  add_number_flag(command, "--round-deadline", flags.round_deadline, Valid{.low = 0, .high = kMaxDeadline},
                  "seconds after which a round closes without those who have not answered; 0: it waits for all");
  add_number_flag(command, "--minimum-clients", flags.minimum_clients, Valid{.low = 1, .high = 1e6},
                  "a round past its deadline goes on until so many have answered");
  add_number_flag(command, "--heartbeat", flags.heartbeat, Valid{.low = 0.1, .high = 600},
                  "seconds between signs of life; four of them without a byte end a connection");
  add_number_flag(command, "--ready-within", flags.ready_within, Valid{.low = 1, .high = kMaxDeadline},
                  "seconds from its welcome until a client must have its data; then its connection ends");
  add_number_flag(command, "--updates-in-flight", flags.updates_in_flight, Valid{.low = 1, .high = 1e4},
                  "updates that are read at once: memory is theirs and one model's");
  add_number_flag(command, "--connections", flags.connections, Valid{.low = 0, .high = 1e6},
                  "open connections at most; 0: twice the clients and 32");
  add_switch(command, "--accept-other-builds", flags.accept_other_builds,
             "go on with clients whose program would not give the same bits");
  takes(*command.add_option("--status", flags.status, "serve a page on the federation at this HOST:PORT, and /status, /metrics"),
        {.word = "HOST:PORT"});
  takes(*command.add_option("--status-token", flags.status_token,
                            "the page answers only who shows the token in this file, which is made if it is missing; needed on "
                            "an address that other machines reach"),
        Place::file);
}

void take_serve_flags(const ServeFlags& flags, int clients, ServeOptions& options) {
  if (flags.minimum_clients > clients)
    throw usage_error("minimum-clients is " + std::to_string(flags.minimum_clients) + "; the federation has " +
                      counted(static_cast<std::uint64_t>(clients), "client") + ", at most that many are valid");
  options.round = {flags.round_deadline, flags.minimum_clients};
  options.heartbeat = flags.heartbeat;
  options.ready_within = flags.ready_within;
  options.updates_in_flight = flags.updates_in_flight;
  options.connections = flags.connections;
  options.accept_other_builds = flags.accept_other_builds;
  if (!flags.status.empty()) options.status = parse_endpoint("status", flags.status, true);
  if (!flags.status_token.empty()) {
    if (!options.status) throw usage_error("status-token is '" + flags.status_token + "'; there is no page without --status");
    options.status_token = load_or_create_status_token(flags.status_token);
  }
}

void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port) {
  if (!port) return;
  Endpoint page = *options.status;
  page.port = *port;
  options.log("status page at http://" + page.text() + "/");
}

std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback) {
  if (certificates.empty() != insecure_loopback)
    throw usage_error(insecure_loopback ? "--certificates and --insecure-loopback exclude each other"
                                        : "certificates is ''; name the folder that 'fedstride certificates' made, or give "
                                          "--insecure-loopback for plain TCP within this machine");
  return certificates;
}

}  // namespace fedstride

#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "net/networked_fleet.hpp"
#include "net/status.hpp"
#include "run/run.hpp"

namespace fedstride {

/// The options of a run over the network.
struct ServeOptions {
  Endpoint listen;
  std::filesystem::path certificates;  ///< folder (coordinator_files); empty: plain TCP, to loopback alone
  RoundTerms round;
  double heartbeat = 5;       ///< seconds
  double ready_within = 300;  ///< seconds from its welcome until a client must have its data
  int updates_in_flight = 4;
  int connections = 0;  ///< open at once at most; 0: twice the clients and 32
  bool accept_other_builds = false;
  std::optional<Endpoint> status = {};            ///< address of the status page
  std::string status_token = {};                  ///< without which the page answers nobody; empty: on loopback alone
  std::filesystem::path deny = {};                ///< DenyList; empty: nobody is denied
  const std::atomic<unsigned>* reread = nullptr;  ///< when it changes, `deny` is read again
  NetworkLog log;
  /// Called once, when clients may connect: the ports that were taken.
  std::function<void(std::uint16_t port, std::optional<std::uint16_t> status_port)> listening = {};
};

/// Coordinates a run whose clients are other processes (join). The folder `configuration.out` must be named: a run
/// that is there already, with the same settings, continues from its last finished round. Under privacy the secret source is
/// used unless the settings name a source. Throws Error as run() and resume() do, and usage for what cannot be done over a
/// network.
RunSummary serve(const Configuration& configuration, const Settings& settings, const ServeOptions& options,
                 const RunObserver& observer = {});

/// The settings with serve()'s own default: the source of noise, unless one is named.
Settings settings_to_serve(Settings settings);

}  // namespace fedstride

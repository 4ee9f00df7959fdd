#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sim/net/networked_fleet.hpp"
#include "sim/net/status.hpp"
#include "sim/run/run.hpp"

namespace fedstride {

/// The options of a run over the network.
struct ServeOptions {
  Endpoint listen;
  std::filesystem::path certificates;  ///< folder (coordinator_files); empty: plain TCP, on loopback only
  RoundTerms round;
  double heartbeat = 5;       ///< seconds
  double ready_within = 300;  ///< maximum seconds from a client's welcome until it is ready
  int updates_in_flight = 4;
  int connections = 0;  ///< maximum open at once; 0: twice the number of clients, plus 32
  bool accept_other_builds = false;
  std::optional<Endpoint> status = {};            ///< address of the status page
  std::string status_token = {};                  ///< required to read the page; empty: on loopback only
  std::filesystem::path deny = {};                ///< file with a DenyList; empty: no client is denied
  const std::atomic<unsigned>* reread = nullptr;  ///< when it changes, `deny` and `certificates` are read again
  NetworkLog log;
  /// Called once, when clients can connect, with the actual ports.
  std::function<void(std::uint16_t port, std::optional<std::uint16_t> status_port)> listening = {};
};

/// Coordinates a run whose clients are other processes (join). `configuration.out` must be set; an existing run there with the
/// same settings continues from its last finished round. Under privacy, noise comes from the secret source unless the settings
/// specify another. Throws Error like run() and resume(), and Error (usage) for anything impossible over a network.
RunSummary serve(const Configuration& configuration, const Settings& settings, const ServeOptions& options,
                 const RunObserver& observer = {});

/// Returns the settings with serve()'s default source of noise unless they already set one.
Settings settings_to_serve(Settings settings);

}  // namespace fedstride

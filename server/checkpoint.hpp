#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/vector.hpp"
#include "dp/ledger/ledger.hpp"

namespace fedstride {

/// Everything a run needs to continue as if it had never stopped.
struct Checkpoint {
  std::string configuration;  ///< digest of everything that must not change when a run continues
  std::uint32_t round = 0;    ///< the last finished round
  Vector model = {};
  std::string fleet_state = {};     ///< what the fleet itself keeps, as it wrote it; the clients' states are in a StateStore
  std::string server_state = {};    ///< the server optimiser's state (Server::save)
  std::uint64_t results_bytes = 0;  ///< length of rounds.jsonl after that round
  std::string results_hash = {};    ///< of those lines, each hashed together with the hash before it
  std::uint64_t examples = 0;       ///< gradient examples so far
  double seconds = 0;               ///< time spent training so far
  double evaluation_seconds = 0;    ///< time spent evaluating so far
  std::uint64_t idle_rounds = 0;    ///< rounds so far in which every step of every client was undone
  LedgerMark ledger = {};           ///< position of the privacy ledger after that round; empty without privacy
};

/// Format 6: "fedstride checkpoint 6\n", SHA-256 of the rest in hexadecimal and a newline, the fields above as a cereal
/// portable binary archive. Another format number is refused. A kill during writing leaves the old file or the new one.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error (failure) if the file is missing, cut, altered or of another format.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace fedstride

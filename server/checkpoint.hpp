#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/vector.hpp"
#include "dp/ledger/ledger.hpp"

namespace fedstride {

/// All that a run needs to go on as if it had never stopped.
struct Checkpoint {
  std::string configuration;       ///< digest of what must not change when a run goes on
  std::uint32_t round = 0;         ///< the last finished round
  Vector model = {};
  std::string fleet_state = {};    ///< what the clients carry from round to round, as the fleet wrote it
  std::string server_state = {};   ///< what the server optimiser does (Server::save)
  std::uint64_t results_bytes = 0; ///< length of rounds.jsonl after that round
  std::string results_hash = {};   ///< of those lines, each hashed together with the hash before it
  std::uint64_t examples = 0;      ///< gradient examples so far
  double seconds = 0;              ///< time spent training so far
  LedgerMark ledger = {};          ///< where the privacy ledger stood after that round; empty without privacy
};

/// Format 3: "fedstride checkpoint 3\n", SHA-256 of the rest in hexadecimal and a newline, the fields above as a cereal
/// portable binary archive. Another format number is refused. Written so that a kill leaves the old file or the new.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error (failure) if the file is missing, cut, altered or of another format.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/vector.hpp"
#include "dp/ledger/ledger.hpp"

namespace fedstride {

/// Everything a run needs to continue as if it had never stopped.
struct Checkpoint {
  std::string configuration;  ///< digest of everything that may not change on resume
  std::uint32_t round = 0;    ///< the last finished round
  Vector model = {};
  std::string fleet_state = {};      ///< Fleet::save; the clients' states are in a StateStore
  std::string server_state = {};     ///< the server optimizer's state (Server::save)
  std::uint64_t results_bytes = 0;   ///< length of rounds.jsonl after that round
  std::string results_hash = {};     ///< hash chain over the lines of rounds.jsonl
  std::uint64_t examples = 0;        ///< gradient examples so far
  std::uint64_t uplink_bytes = 0;    ///< bytes of updates so far
  std::uint64_t downlink_bytes = 0;  ///< bytes of models so far
  std::uint64_t wasted_bytes = 0;    ///< the wasted part of both (RoundBytes)
  double seconds = 0;                ///< time spent training so far
  double evaluation_seconds = 0;     ///< time spent evaluating so far
  std::uint64_t idle_rounds = 0;     ///< rounds so far in which all clients undid all steps
  std::string time_state = {};       ///< state of virtual time (sim/run/virtual_time.hpp); empty without virtual time
  LedgerMark ledger = {};            ///< position of the privacy ledger after that round; empty without privacy
};

/// Format 8: "fedstride checkpoint 8\n", SHA-256 of the rest in hexadecimal and a newline, then the fields above as a cereal
/// portable binary archive. Other format numbers are refused. If the process is killed while writing, either the old
/// file or the new one is left.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error (failure) if the file is missing, truncated, altered or of another format.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/folder_lock.hpp"
#include "dp/ledger/ledger.hpp"
#include "secagg/client.hpp"

namespace fedstride {

/// The persistent state of a client of a networked federation.
struct ClientMemory {
  std::string experiment;    ///< Welcome::experiment
  std::string terms;         ///< experiment_digest computed by this client, which the coordinator cannot choose
  std::uint32_t round = 0;   ///< the last round answered; 0: none
  std::string model_hash;    ///< hash of the model to train in that round and of the numbers sent with it
  std::string state_before;  ///< the client's serialized state before that round, so that the round can be repeated
  std::string state_after;   ///< the client's serialized state after that round
  LedgerMark ledger;
};

/// The folder of one client of a networked federation. It holds `memory`; under privacy, also `ledger.jsonl` and `secret.key`;
/// under secure aggregation, also `signing.key` and `survivors`. Only one process at a time can use it (a lock).
class ClientFolder {
 public:
  /// Creates the folder if it does not exist. Throws FolderInUse or Error (failure).
  explicit ClientFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the memory; nullopt if the client has not started. Throws Error (failure) if the file is damaged.
  std::optional<ClientMemory> load() const;
  /// Writes the memory and syncs it to disk.
  void save(const ClientMemory& memory) const;

  /// For secure aggregation: the client's signing key, created by the first call, and the last list of survivors for which the
  /// client revealed shares, which keep() replaces and syncs to disk. Throws Error (failure).
  secagg::Secret signing_key() const;
  std::optional<secagg::KeptList> kept() const;
  void keep(const secagg::KeptList& list) const;

 private:
  std::filesystem::path path_;
  FolderLock lock_;
};

}  // namespace fedstride

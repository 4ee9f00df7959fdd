#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/folder_lock.hpp"
#include "dp/ledger/ledger_book.hpp"

namespace fedstride {

/// The persistent state of a client of a networked federation.
struct ClientMemory {
  std::string experiment;    ///< Welcome::experiment
  std::string terms;         ///< experiment_digest of this side, which no coordinator can name
  std::uint32_t round = 0;   ///< the last it has answered; 0: none
  std::string model_hash;    ///< of the model it was asked to train there, with the numbers it was told besides
  std::string state_before;  ///< its optimiser's state before that round, as bytes, so that the round can be repeated
  std::string state_after;   ///< and after it
  LedgerMark ledger;
};

/// The folder of one client of a networked federation: `memory`, and under privacy `ledger.jsonl` and `secret.key`. Held by
/// one process at a time.
class ClientFolder {
 public:
  /// Makes the folder if it does not exist. Throws FolderInUse, Error (failure).
  explicit ClientFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the memory; nothing if the client has not begun. Throws Error (failure) for a damaged file.
  std::optional<ClientMemory> load() const;
  /// Writes the memory; it is on the disk when this returns.
  void save(const ClientMemory& memory) const;

 private:
  std::filesystem::path path_;
  FolderLock lock_;
};

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/folder_lock.hpp"
#include "dp/ledger/ledger_book.hpp"

namespace fedstride {

/// What a client of a networked federation must not forget.
struct ClientMemory {
  std::string experiment;        ///< Welcome::experiment
  std::string terms;             ///< experiment_digest of this side, which no coordinator can name
  std::uint32_t round = 0;       ///< the last it has answered; 0: none
  std::string model_hash;        ///< of the model it was asked to train there
  std::string state_before;      ///< its optimiser's state before that round, as bytes: the round can be done again
  std::string state_after;       ///< and after it
  LedgerMark ledger;
};

/// The folder of one client of a networked federation: `memory`, and under privacy `ledger.jsonl` and `secret.key`. Held by
/// one process at a time.
class ClientFolder {
 public:
  /// Made if it is not there. Throws FolderInUse, Error (failure).
  explicit ClientFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Nothing if the client has not begun. Throws Error (failure) for a damaged file.
  std::optional<ClientMemory> load() const;
  /// On the disk when it returns.
  void save(const ClientMemory& memory) const;

 private:
  std::filesystem::path path_;
  FolderLock lock_;
};

}  // namespace fedstride

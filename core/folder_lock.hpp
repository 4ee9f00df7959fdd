#pragma once

#include <filesystem>

#include "core/error.hpp"

namespace fedstride {

/// Another process works in a folder.
class FolderInUse : public Error {
 public:
  using Error::Error;
};

/// A folder held by one process at a time; flock on the folder itself, so that no file is left over by it.
class FolderLock {
 public:
  enum class Wait { no, yes };
  FolderLock(const std::filesystem::path& folder, Wait wait);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

  /// False if another process has it, or the folder cannot be opened.
  bool held() const { return held_; }
  /// Throws FolderInUse, or Error (failure) if the folder cannot be opened, unless it is held.
  void require(const std::filesystem::path& folder) const;

 private:
  int descriptor_ = -1;
  int error_ = 0;
  bool held_ = false;
};

/// Held, or an exception (FolderLock::require).
FolderLock locked(const std::filesystem::path& folder);

/// Whether another process, or thread, works in a folder that is there.
bool is_held_elsewhere(const std::filesystem::path& folder);

}  // namespace fedstride

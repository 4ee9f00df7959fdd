#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/folder_lock.hpp"
#include "run/run.hpp"
#include "server/checkpoint.hpp"

namespace fedstride {

/// Checkpoint::results_hash after one more line, from that before it.
std::string results_hash_after(const std::string& before, std::string_view line);

/// The folder of one run: config.toml, partition.json, rounds.jsonl, checkpoint, model.safetensors, summary.json.
/// Held by one process at a time.
class RunFolder {
 public:
  /// Makes a folder or takes an empty one; an empty `name` means a free name under runs/. Throws Error (usage) if it holds
  /// anything, failure if it cannot be made, FolderInUse.
  static RunFolder create(const std::string& name, const Configuration& configuration);
  /// Opens the folder of an earlier run. Throws Error (usage) if it holds none, FolderInUse if another process runs in it.
  static RunFolder open(const std::string& name);
  /// Throws Error (usage) if the folder holds no run.
  static void require(const std::string& name);

  const std::filesystem::path& path() const { return path_; }

  void write_configuration(const std::string& text) const;
  void write_partition(const Setup& setup) const;
  /// Returns the checkpoint; nothing if the run ended before its first one. Throws Error (failure) for a damaged one.
  std::optional<Checkpoint> load() const;
  void save(const Checkpoint& checkpoint) const;
  /// Cuts rounds.jsonl back to the checkpoint's length. Throws Error (failure) if that part was altered.
  void cut_results(const Checkpoint& checkpoint) const;
  void start_results() const;  ///< an empty rounds.jsonl
  /// Appends a line to rounds.jsonl and updates the checkpoint's length and hash of that file.
  void append(const RoundRecord& record, const Configuration& configuration, Checkpoint& checkpoint) const;
  void write_results(const Setup& setup, const Vector& model, const RunSummary& summary, const std::string& model_hash) const;
  /// Removes the files made by create and before the first round, for a run that could not begin. Does nothing if something
  /// was reserved in its ledger.
  void discard();

 private:
  RunFolder(std::filesystem::path path, std::filesystem::path topmost);

  std::filesystem::path path_;
  std::filesystem::path topmost_;  ///< the topmost folder that create made; empty if it existed
  FolderLock lock_;
};

}  // namespace fedstride

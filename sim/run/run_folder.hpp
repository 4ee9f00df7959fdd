#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/folder_lock.hpp"
#include "core/function_ref.hpp"
#include "core/own_process.hpp"
#include "data/schema.hpp"
#include "server/checkpoint.hpp"
#include "sim/run/results.hpp"

namespace fedstride {

/// Returns Checkpoint::results_hash after this line, given the hash before it.
std::string results_hash_after(const std::string& before, std::string_view line);

/// The file of the model with the lowest test loss, for a run under client-level privacy that ended because its clients failed.
inline constexpr std::string_view kGoodModel = "lowest-loss.safetensors";

/// The folder, in a run's folder, of the checkpoint kept after a round (keep-checkpoints): `checkpoint` and, if clients keep
/// states, `states`.
std::filesystem::path kept_folder(const std::filesystem::path& run, std::uint32_t round);
/// The last round up to `round` whose checkpoint was kept; 0 if there is none.
std::uint32_t last_kept(const std::filesystem::path& run, std::uint32_t round);

/// The folder of one run: config.toml, schema.json, partition.json, rounds.jsonl, checkpoint, model.safetensors, summary.json.
/// Locked by one process at a time.
class RunFolder {
 public:
  /// Creates a folder or uses an empty one; an empty `name` means a free name under runs/. Throws Error: usage if the folder is
  /// not empty, failure if it cannot be created; FolderInUse if another process uses it.
  static RunFolder create(const std::string& name, const Configuration& configuration);
  /// Opens the folder of an earlier run. Throws Error (usage) if it has no run, FolderInUse if another process uses it.
  static RunFolder open(const std::string& name);
  /// Throws Error (usage) if the folder has no run; the message begins with the key that specified it, if given.
  static void require(const std::string& name, const std::string& key = "");

  const std::filesystem::path& path() const { return path_; }  ///< absolute
  const std::string& name() const { return name_; }            ///< as given

  void write_configuration(const std::string& text) const;
  void write_partition(const Setup& setup) const;
  /// Writes the schema of the run's data. Does nothing if only the clients' own code knows the data.
  void write_schema(const Setup& setup) const;
  /// The schema; null before it has been written. Throws Error (failure) if it is damaged.
  std::shared_ptr<const Schema> schema() const;
  /// Returns the checkpoint; nothing if the run ended before writing one. Throws Error (failure) if it is damaged.
  std::optional<Checkpoint> load() const;
  void save(const Checkpoint& checkpoint) const;
  /// Saves a copy that later checkpoints do not replace, and calls with_states(its folder) before it is complete.
  void keep(const Checkpoint& checkpoint, function_ref<void(const std::filesystem::path&)> with_states) const;
  /// Truncates rounds.jsonl to the checkpoint's length. Throws Error (failure) if that part was altered.
  void cut_results(const Checkpoint& checkpoint) const;
  void start_results() const;  ///< writes an empty rounds.jsonl
  /// Appends a line to rounds.jsonl, and updates the checkpoint's length and hash of that file.
  void append(const RoundRecord& record, const Configuration& configuration, Checkpoint& checkpoint) const;
  void write_results(const Setup& setup, const Vector& model, const RunSummary& summary, const std::string& model_hash) const;
  /// Writes the model of an earlier round to the file kGoodModel.
  void write_good_model(const Setup& setup, const Vector& model, std::uint32_t round) const;
  /// Removes the files of a run that could not begin, and the folders that create() created. Does nothing if the run's ledger has
  /// a reservation.
  void discard();

 private:
  RunFolder(std::filesystem::path path, std::filesystem::path topmost);

  std::string name_;
  std::filesystem::path path_;
  std::filesystem::path topmost_;  ///< the topmost folder that create() created; empty if none
  FolderLock lock_;
  OwnProcess process_;  ///< the only one that writes
};

}  // namespace fedstride

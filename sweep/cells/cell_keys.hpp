#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/secret_key.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Returns the resolved settings that affect a run's results, as text. Omits the paths of files that the run reads, since their
/// contents are hashed separately.
std::string determining_text(const Configuration& configuration);

/// Throws Error (usage) if the experiment tunes on rows that the configuration protects. Tuning needs a public test set, or
/// accuracy released with privacy.
void check_choice(const Experiment& experiment, const Configuration& configuration);

/// Computes the name of a cell's folder: 16 hexadecimal digits of a hash over everything that determines its results. For a
/// run, these are determining_text, the contents of the data set and of the files the run reads, and kNumericsVersion; for
/// another command, its words and this program's version. Names are published (tables, pages), so private data enters them as an
/// HMAC under the key in `sweep_key`, or under a new key if that file does not exist.
class CellKeys {
 public:
  /// `experiment` and `inputs` must outlive this object.
  CellKeys(const Experiment& experiment, InputHashes& inputs, std::filesystem::path sweep_key)
      : experiment_(experiment), inputs_(inputs), sweep_key_(std::move(sweep_key)) {}

  /// Fills in key, configuration and command from the cell's settings. Throws Error.
  void fill(Cell& cell);

 private:
  void fill_run(Cell& cell);
  void fill_other(Cell& cell) const;
  const std::string& data_hash(const Configuration& configuration);
  const std::string& file_hash(const std::string& path);

  const Experiment& experiment_;
  InputHashes& inputs_;
  std::filesystem::path sweep_key_;
  std::optional<SecretKey> key_;
  InputHashes raw_;  ///< unkeyed hashes of private data sets
};

/// The names under which InputHashes holds the hashes of a configuration's data and of a file.
std::string data_input(const Configuration& configuration);
std::string file_input(const std::string& path);

/// Returns the words of a cell's command after the program's name: "run", "--dataset", "mnist", ...
std::vector<std::string> command_words(const Experiment& experiment, const Cell& cell);

}  // namespace fedstride

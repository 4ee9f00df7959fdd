#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/secret_key.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// The settings that determine the results of a run, as text: its resolved settings without those that do not affect
/// results. Files it reads appear without their paths; their contents are hashed separately.
std::string determining_text(const Configuration& configuration);

/// Names a cell's folder: 16 hexadecimal digits of a hash over everything that determines its results. For a run that is
/// determining_text, the contents of the data set and the files it reads, and kNumericsVersion; for another command its
/// words and this program's version. Names are seen by others (tables, pages): under privacy the data's contents enter them as
/// an HMAC under the key in `sweep_key`, or under a new one if there is no such file.
class CellKeys {
 public:
  /// Both must outlive this.
  CellKeys(const Experiment& experiment, InputHashes& inputs, std::filesystem::path sweep_key)
      : experiment_(experiment), inputs_(inputs), sweep_key_(std::move(sweep_key)) {}

  /// Fills in key, configuration and command from the cell's settings. Throws Error.
  void fill(Cell& cell);

 private:
  void fill_run(Cell& cell);
  void check_choice(const Configuration& configuration) const;
  void fill_other(Cell& cell) const;
  const std::string& data_hash(const Configuration& configuration);
  const std::string& file_hash(const std::string& path);

  const Experiment& experiment_;
  InputHashes& inputs_;
  std::filesystem::path sweep_key_;
  std::optional<SecretKey> key_;
  InputHashes raw_;  ///< of data sets, by the names for cells without privacy
};

/// True if the cell protects somebody.
bool is_private(const Configuration& configuration);

/// The names of data and files in InputHashes.
std::string data_input(const Configuration& configuration);
std::string file_input(const std::string& path);

/// "run --dataset mnist ...": the words of a cell's command after the program's name.
std::vector<std::string> command_words(const Experiment& experiment, const Cell& cell);

/// A word quoted for a POSIX shell.
std::string shell_quoted(const std::string& word);

}  // namespace fedstride

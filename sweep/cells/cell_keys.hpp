#pragma once

#include <map>
#include <string>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// The settings that determine the results of a run, as text: its resolved settings without those that do not affect
/// results. Files it reads appear without their paths; their contents are hashed separately.
std::string determining_text(const Configuration& configuration);

/// Names a cell's folder: 16 hexadecimal digits of a hash over everything that determines its results. For a run that is
/// determining_text, the contents of the data set and the files it reads, and kNumericsVersion; for another command its
/// words and this program's version.
class CellKeys {
 public:
  /// Both must outlive this.
  CellKeys(const Experiment& experiment, InputHashes& inputs) : experiment_(experiment), inputs_(inputs) {}

  /// Fills in key, configuration and command from the cell's settings. Throws Error.
  void fill(Cell& cell);

 private:
  void fill_run(Cell& cell);
  void fill_other(Cell& cell) const;
  const std::string& data_hash(const Configuration& configuration);
  const std::string& file_hash(const std::string& path);

  const Experiment& experiment_;
  InputHashes& inputs_;
};

/// The names of data and files in InputHashes.
std::string data_input(const Configuration& configuration);
std::string file_input(const std::string& path);

/// "run --dataset mnist ...": the words of a cell's command after the program's name.
std::vector<std::string> command_words(const Experiment& experiment, const Cell& cell);

/// A word quoted for a POSIX shell.
std::string shell_quoted(const std::string& word);

}  // namespace fedstride

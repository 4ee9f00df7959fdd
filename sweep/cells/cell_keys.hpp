#pragma once

#include <map>
#include <string>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// What the results of a run follow from, as text: its resolved settings without those that only say how it is carried
/// out. Files it reads stand there without their paths; their contents are hashed beside it.
std::string determining_text(const Configuration& configuration);

/// Names a cell's folder: 16 hexadecimal digits of a hash over what its results follow from. For a run that is
/// determining_text, the contents of the data set and the files it reads, and kNumericsVersion; for another command its
/// words and this program's version.
class CellKeys {
 public:
  /// Both must outlive this.
  CellKeys(const Experiment& experiment, InputHashes& inputs) : experiment_(experiment), inputs_(inputs) {}

  /// From the cell's settings: key, configuration, command. Throws Error.
  void fill(Cell& cell);

 private:
  void fill_run(Cell& cell);
  void fill_other(Cell& cell) const;
  const std::string& data_hash(const Configuration& configuration);
  const std::string& file_hash(const std::string& path);

  const Experiment& experiment_;
  InputHashes& inputs_;
};

/// The names that data and files have among InputHashes.
std::string data_input(const Configuration& configuration);
std::string file_input(const std::string& path);

/// "run --dataset mnist ...": the words of a cell's command after the program's name.
std::vector<std::string> command_words(const Experiment& experiment, const Cell& cell);

/// A word as a POSIX shell must be given it.
std::string shell_quoted(const std::string& word);

}  // namespace fedstride

#pragma once

#include <string>

#include "core/choice.hpp"

namespace fedstride {

/// The form of a file of one's own.
enum class FileForm { automatic, npz, hdf5, leaf, csv, idx, cifar };
constexpr auto choice_names(FileForm) { return names("auto", "npz", "hdf5", "leaf", "csv", "idx", "cifar"); }

/// The kind of answers of a file of one's own: by the file, or as said.
enum class TargetsAre { automatic, classes, positions, values, flags };
constexpr auto choice_names(TargetsAre) { return names("auto", "classes", "positions", "values", "flags"); }

/// The user's options on how a file is to be read (docs/data.md).
struct ReadSettings {
  FileForm format = FileForm::automatic;
  std::string label = {};          ///< column or key of the answers; several columns with commas between
  std::string client_column = {};  ///< column or key of the natural clients
  TargetsAre targets = TargetsAre::automatic;
  bool operator==(const ReadSettings&) const = default;
};

}  // namespace fedstride

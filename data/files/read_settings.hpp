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

/// The source of the mean and the deviation by which inputs are normalised (data/normalisation.hpp).
enum class Normalise { automatic, rows, given, range, from_public, privately, none };
constexpr auto choice_names(Normalise) { return names("auto", "rows", "given", "range", "public", "private", "none"); }

/// The user's options on how a data set is to be read (docs/data.md).
struct ReadSettings {
  FileForm format = FileForm::automatic;
  std::string label = {};          ///< column or key of the answers; several columns with commas between
  std::string client_column = {};  ///< column or key of the natural clients
  TargetsAre targets = TargetsAre::automatic;
  // Facts about the data that are named. Where rows are protected, nothing else may take their place but what the file or its
  // data set publishes.
  int classes = 0;               ///< 0: not named
  std::string class_names = {};  ///< the labels in the order of their classes, with commas between
  int vocabulary = 0;            ///< 0: not named
  std::string words = {};        ///< a file of words, one a line, the most frequent first
  std::string shape = {};        ///< of an example: "28x28x1"
  Normalise normalise = Normalise::automatic;
  std::string mean = {};         ///< one number, or one a channel (of a table: a column), with commas between
  std::string deviation = {};    ///< likewise
  std::string range = {};        ///< "LOW,HIGH": inputs are clipped to it
  std::string public_data = {};  ///< a file of rows that nobody protects, in any of the forms
  bool public_test = false;      ///< the test part is public
  /// Rows are protected (dp): no fact is read off them, and none of them is refused for its contents. No setting of its own.
  bool rows_are_protected = false;

  bool operator==(const ReadSettings&) const = default;
};

}  // namespace fedstride

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/borrowable.hpp"
#include "data/example_form.hpp"
#include "data/schema.hpp"

namespace fedstride {

using Label = std::uint16_t;
using Row = std::uint32_t;  ///< index of an example in its data set

/// The label of a position that does not count: behind the end of a sequence, or masked.
inline constexpr Label kNoLabel = std::numeric_limits<Label>::max();

/// A set of examples and their answers: a value, immutable once read, shared by all threads.
/// Pictures stay 8-bit, one example after the other, each as planes (channel, row, column) as in the CIFAR files; sequences
/// are tokens; other data are floats, channels innermost. Exactly one of `pixels`, `features` and `tokens` is used.
struct Dataset {
  std::string name;
  Shape shape;
  int classes = 0;  ///< ExampleForm::outputs
  Targets targets = Targets::classes;
  int vocabulary = 0;                    ///< of tokens
  std::vector<std::string> class_names;  ///< empty, or one a class
  /// Order in which the pathological partition deals out classes; consecutive ones go to one client.
  std::vector<int> class_order;

  Borrowable<std::uint8_t> pixels;  ///< these and `features` may lie in memory of the program that brought them
  Borrowable<float> features;
  std::vector<std::uint16_t> tokens;
  std::vector<Label> labels;           ///< one an example; all 0 where the answers are no classes
  std::vector<Label> position_labels;  ///< Targets::positions: shape.height an example, kNoLabel where none counts
  std::vector<float> values;           ///< Targets::values and flags: `classes` an example; flags are 0 or 1
  /// Natural clients: their names, and the number of each row's client in it. Both empty: the data name none. Both parts of a
  /// data set have the same names.
  std::vector<std::string> client_names;
  std::vector<std::uint32_t> clients;
  /// The number of each row in its file, records counted from 0, if that is another: some were held out as the test part.
  std::vector<Row> file_rows;
  /// The position of each row in them, if only some are kept (keep_rows); empty: row r is the r-th.
  std::vector<Row> places;

  /// The model's input is (value / 255 - mean) / deviation per channel for pixels, (value - mean) / deviation per channel
  /// for features, which of a table is a column; tokens have none.
  std::vector<float> mean;
  std::vector<float> deviation;
  /// The last columns of a table, as many as these, are 0 or 1 by construction (words, missing values): mean 0, deviation 1.
  int binary_columns = 0;

  std::size_t size() const { return labels.size(); }
  std::size_t place(Row row) const { return places.empty() ? row : places[row]; }
  bool is_pictures() const { return !pixels.empty(); }
  ExampleForm form() const { return {shape, classes, targets, vocabulary}; }
  /// The classes that rows can be told apart by: 1 where the answers are no classes.
  int label_classes() const { return targets == Targets::classes ? classes : 1; }
};

/// The data set behind a name on the command line.
struct DataPair {
  Dataset train;
  Dataset test;
  std::string hash;                     ///< SHA-256 of both parts' contents
  std::vector<std::string> notes = {};  ///< what people should know of how their file was read
  /// Every constant that the model's form and its inputs depend on, with its source: "classes 10 (named)". Where rows are
  /// protected, none of them follows from the rows, and every privacy statement lists them.
  std::vector<std::string> facts = {};
  TableColumns columns = {};  ///< Schema::columns, as are the next ones
  bool labels_are_names = false;
  std::vector<std::string> words = {};
  Missing missing = Missing::error;
  std::vector<float> fill = {};
  std::string normalized_by = {};
  std::string offsets = {};           ///< subtracted from columns, or to be so, as ReadSettings has them; empty: none
  bool has_public_test = false;       ///< the test part is not of the rows that may be protected: published, or named public
  bool normalizes_privately = false;  ///< mean and deviation are placeholders, until an accounted release gives them
};

}  // namespace fedstride

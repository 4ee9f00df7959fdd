#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/borrowable.hpp"
#include "data/example_form.hpp"
#include "data/schema.hpp"

namespace fedstride {

using Label = std::uint16_t;
using Row = std::uint32_t;  ///< index of an example in its data set

/// The label of a position that does not count: past the end of a sequence, or masked.
inline constexpr Label kNoLabel = std::numeric_limits<Label>::max();

/// A set of examples and their answers, immutable once read and shared by all threads. Images are stored one after another as
/// 8-bit planes (channel, row, column), as in the CIFAR files; sequences are stored as tokens, other data as floats, channels
/// innermost. Exactly one of `pixels`, `features` and `tokens` is used.
struct Dataset {
  std::string name;
  Shape shape;
  int classes = 0;  ///< ExampleForm::outputs
  Targets targets = Targets::classes;
  int vocabulary = 0;                    ///< number of distinct tokens
  std::vector<std::string> class_names;  ///< empty, or one name per class
  /// The order in which the pathological partition assigns classes; consecutive classes go to the same client.
  std::vector<int> class_order;

  Borrowable<std::uint8_t> pixels;  ///< `pixels` and `features` may refer to memory of the program that supplied them
  Borrowable<float> features;
  std::vector<std::uint16_t> tokens;
  std::vector<Label> labels;           ///< one per example; all 0 if the answers are not classes
  std::vector<Label> position_labels;  ///< Targets::positions: shape.height per example, kNoLabel where no answer counts
  std::vector<float> values;           ///< Targets::values and flags: `classes` per example; flags are 0 or 1
  /// Natural clients: `client_names`, and in `clients` the index of each row's client among them. Both are empty if the data have
  /// no clients. Both parts of a data set have the same names.
  std::vector<std::string> client_names;
  std::vector<std::uint32_t> clients;
  std::vector<std::uint32_t> users;  ///< each row's user, if the data name users beside clients; empty: clients are users
  /// Each row's record number in its file, from 0, if it differs from the index because a test part was held out.
  std::vector<Row> file_rows;
  /// Each row's index in the vectors above if only some rows are kept (keep_rows); empty: row r is at index r.
  std::vector<Row> places;

  /// The model's input is (value / 255 - mean) / deviation per channel for pixels, (value - mean) / deviation per channel for
  /// features (a table's columns are channels); tokens have neither.
  std::vector<float> mean;
  std::vector<float> deviation;
  /// The number of trailing table columns that are 0 or 1 by construction (words, missing values); they have mean 0 and deviation
  /// 1.
  int binary_columns = 0;

  std::size_t size() const { return labels.size(); }
  std::size_t place(Row row) const { return places.empty() ? row : places[row]; }
  std::span<const std::uint32_t> user_of_row() const { return users.empty() ? clients : users; }
  bool is_pictures() const { return !pixels.empty(); }
  ExampleForm form() const { return {shape, classes, targets, vocabulary}; }
  /// The number of classes by which rows can be told apart; 1 unless each answer is one class.
  int label_classes() const { return targets == Targets::classes ? classes : 1; }
};

/// The chance level: the accuracy of always predicting the most common class; nothing unless the answers are classes.
std::optional<double> chance_accuracy(const Dataset& data);

/// The two parts of a data set, with everything known about them.
struct DataPair {
  Dataset train;
  Dataset test;
  std::string hash;                     ///< SHA-256 of both parts' contents
  std::vector<std::string> notes = {};  ///< what users should know about how their file was read
  /// Every constant on which the model's form and inputs depend, with its source, as in "classes 10 (named)". If rows are
  /// protected, none of them is derived from the rows, and every privacy statement lists them.
  std::vector<std::string> facts = {};
  TableColumns columns = {};  ///< from here to `offsets`: as in Schema
  bool labels_are_names = false;
  bool has_decimal_commas = false;  ///< a table's numbers
  std::string numbers = {};
  std::vector<std::string> words = {};
  Missing missing = Missing::error;
  std::vector<float> fill = {};
  std::string normalized_by = {};
  std::string features = {};  ///< the map that computed the inputs from images (FeatureMap::text); empty: none
  std::vector<ClientMoments> client_moments = {};
  std::string offsets = {};           ///< constants subtracted from columns, as in ReadSettings; empty: none
  bool has_public_test = false;       ///< the test part is published or declared public, so not protected
  bool normalizes_privately = false;  ///< mean and deviation are placeholders until an accounted release replaces them
};

}  // namespace fedstride

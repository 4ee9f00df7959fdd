#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/files/part_builder.hpp"

namespace fedstride {

/// The labels of a table: whole numbers, numbers to predict, or words, which only the last of them may tell.
class CsvLabels {
 public:
  /// `columns` labels an example. Where rows are protected a label decides nothing about the others: a field that
  /// cannot be one is the number -1, which has no class, and with class-names every field is a name.
  explicit CsvLabels(std::size_t columns = 1, const SharedNames* shared = nullptr) : columns_(columns), shared_(shared) {}

  /// Adds one field. Returns why it cannot be a label; empty if it can.
  std::string add(std::string_view field);
  /// Gives them to the part. Throws Error (failure) that begins with `file`.
  void give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file);
  /// True once they are given and are numbers with fractions.
  bool are_values() const { return fractions_; }

 private:
  bool is_protected() const { return shared_ != nullptr && shared_->rows_are_protected; }
  bool gives_names() const { return is_protected() && columns_ == 1 && !shared_->named_classes.empty(); }
  std::string add_protected(std::string_view field);
  void give_words(PartBuilder& part, const std::string& key);
  void give_numbers(PartBuilder& part, const std::string& key, bool as_values);

  std::size_t columns_;
  const SharedNames* shared_;
  Blocks<double> numbers_;  ///< NaN for words
  Names texts_;
  Blocks<std::uint32_t> ids_;  ///< in texts_, while there are not too many of them
  bool too_many_ = false;
  std::size_t words_ = 0;
  bool first_is_word_ = false;
  bool fractions_ = false;
};

/// The number that a field is; nothing if it is none.
bool parse_csv_number(std::string_view text, double& number);
/// A field as it may stand in one line of an error.
std::string shown_field(std::string_view field);

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "data/files/blocks.hpp"
#include "data/files/column_span.hpp"
#include "data/files/part_builder.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Collects a table's labels. Whether they are whole numbers, numbers to predict or words may be known only after the last one.
class CsvLabels {
 public:
  /// `columns`: labels per example. If rows are protected, no label affects how others are read: an invalid field becomes the
  /// number -1, which has no class, and with class-names every field is a name.
  explicit CsvLabels(std::size_t columns = 1, const SharedNames* shared = nullptr) : columns_(columns), shared_(shared) {}

  /// Adds a field; `read` is its number, if it has one. Returns the reason why it cannot be a label, or "" if it can.
  std::string add(std::string_view field, std::optional<double> read);
  bool has_words() const { return words_ > 0; }
  /// Sets the constant that give() subtracts from values; span() then covers the values before subtraction.
  void subtract(double offset) { offset_ = offset; }
  const ColumnSpan& span() const { return span_; }
  /// True for a field that stands for a missing label and is not a class name.
  bool is_missing_label(std::string_view field) const;
  /// Passes the labels to the part. Throws Error (failure), beginning with `file`.
  void give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file, bool first_may_be_header);

 private:
  bool is_protected() const { return shared_ != nullptr && shared_->rows_are_protected; }
  bool gives_names() const { return is_protected() && columns_ == 1 && !shared_->named_classes.empty(); }
  std::string add_protected(std::string_view field, std::optional<double> read);
  void give_words(PartBuilder& part, const std::string& key);
  void give_numbers(PartBuilder& part, const std::string& key, const std::vector<double>& all, bool as_values) const;

  std::size_t columns_;
  const SharedNames* shared_;
  Blocks<double> numbers_;  ///< NaN for words
  Names texts_;
  Blocks<std::uint32_t> ids_;  ///< indices into texts_, unless there are too many words
  double offset_ = 0;
  ColumnSpan span_;  ///< of values
  bool too_many_ = false;
  std::size_t words_ = 0;
  bool first_is_word_ = false;
  bool fractions_ = false;
};

}  // namespace fedstride

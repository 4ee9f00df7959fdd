#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/files/part_builder.hpp"

namespace fedstride {

/// Holds the two parts of a data set while they are read, and assembles the data set from them.
class Assembly {
 public:
  /// `settings` must outlive this object. Throws Error (usage) if a specified fact is invalid.
  Assembly(std::string train_file, std::string test_file, const ReadSettings& settings);
  Assembly& operator=(Assembly&&) = delete;

  SharedNames shared;
  PartBuilder train;
  PartBuilder test;
  std::vector<std::string> notes;

  /// Adopts a fact stated by the file, unless the settings specify it.
  template <class Value>
  void file_says(const char* fact, std::optional<Value> value, std::optional<Value> SharedNames::*member) {
    if (!value || shared.*member) return;
    shared.*member = value;
    const auto text = [](const auto& said) {
      if constexpr (std::is_same_v<Value, Shape>)
        return said.text();
      else
        return std::to_string(said);
    };
    said_.push_back(std::string(fact) + " " + text(*value) + " (the file's key, taken as public)");
  }

  /// Returns the data set without a hash, and without normalization unless the file states one. Labels that do not begin at 0 are
  /// numbered in ascending order, words in alphabetical order; with `own_rows`, labels keep their numbers, which are interpreted
  /// elsewhere. If rows are protected, facts that would be inferred from them must be specified. Throws Error (failure).
  DataPair finish(bool own_rows);

 private:
  void add_blank_answers();
  void check_counts() const;
  void finish_examples(DataPair& pair);
  void order_columns(DataPair& pair);
  /// The form of an example's answer: one string, one number, a whole number for each of its tokens, or another list of numbers.
  enum class Answers { words, whole, numbers, whole_per_token, lists };
  Answers answers() const;
  bool are_named_classes() const;
  bool stand_for_classes(Answers answers) const;
  void make_classes();
  Targets targets_of(TargetsAre asked) const;
  void note_targets(Targets targets, Answers answers, int outputs);
  void finish_answers(DataPair& pair, bool own_rows);
  void finish_targets(DataPair& pair, Targets targets, bool own_rows);
  void finish_classes(DataPair& pair, bool own_rows);
  void finish_protected_classes(DataPair& pair, bool own_rows);
  void finish_positions(DataPair& pair);
  void finish_clients(DataPair& pair);
  void finish_facts(DataPair& pair);

  const ReadSettings& settings_;
  std::vector<std::string> said_;  ///< facts stated by the file
};

}  // namespace fedstride

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/files/part_builder.hpp"

namespace fedstride {

/// Both parts of a data set while they are read, and the data set they make.
class Assembly {
 public:
  /// `settings` must outlive it. Throws Error (usage) for a fact that cannot be named so.
  Assembly(std::string train_file, std::string test_file, const ReadSettings& settings);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  SharedNames shared;
  PartBuilder train;
  PartBuilder test;
  std::vector<std::string> notes;

  /// Takes up facts that the file says, unless the settings name them.
  void file_says(const char* fact, std::optional<int> number, std::optional<int> SharedNames::*member);

  /// The data set, without hash, and without normalisation unless the file says it. Labels that do not begin at 0 are numbered in
  /// ascending order, words in that of texts; `own_rows`: labels keep their numbers, since others have their meaning. Where rows are
  /// protected, facts that only they tell must be named. Throws Error (failure).
  DataPair finish(bool own_rows);

 private:
  void check_counts() const;
  void finish_examples(DataPair& pair);
  Targets targets_of(TargetsAre asked) const;
  void finish_answers(DataPair& pair, TargetsAre asked, bool own_rows);
  void finish_classes(DataPair& pair, bool own_rows);
  void finish_protected_classes(DataPair& pair, bool own_rows);
  void finish_positions(DataPair& pair);
  void finish_clients(DataPair& pair);
  void finish_facts(DataPair& pair);

  const ReadSettings& settings_;
  std::vector<std::string> said_;  ///< facts that the file says
};

}  // namespace fedstride

#pragma once

#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/files/part_builder.hpp"

namespace fedstride {

/// Both parts of a data set while they are read, and the data set they make.
class Assembly {
 public:
  Assembly(std::string train_file, std::string test_file)
      : train(std::move(train_file), shared), test(std::move(test_file), shared) {}
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  SharedNames shared;
  PartBuilder train;
  PartBuilder test;
  std::vector<std::string> notes;

  /// The data set, without normalisation and hash. Labels that do not begin at 0 are numbered in ascending order, words in that of
  /// texts; `own_rows`: labels keep their numbers, since others have their meaning. Throws Error (failure).
  DataPair finish(TargetsAre targets, bool own_rows);

 private:
  void check_counts() const;
  void finish_examples(DataPair& pair);
  Targets targets_of(TargetsAre asked) const;
  void finish_answers(DataPair& pair, TargetsAre asked, bool own_rows);
  void finish_classes(DataPair& pair, bool own_rows);
  void finish_positions(DataPair& pair);
  void finish_clients(DataPair& pair);
};

}  // namespace fedstride

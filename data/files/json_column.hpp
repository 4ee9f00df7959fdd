#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "data/files/array.hpp"

namespace fedstride {

/// The numbers, or the texts, of one user's x or y as a JSON file has them: a list of examples, each a number, lists within lists of numbers
/// of one shape, or a text. Functions that return a text say why something is not valid; it is empty if it is.
class JsonColumn {
 public:
  void clear();
  std::string add(double number, bool whole);
  std::string add(std::string text);
  std::string open();
  std::string close();

  std::size_t examples() const { return examples_; }
  const std::vector<std::string>& texts() const { return texts_; }

  /// The numbers as an array: whole ones of 64 bits if asked for and all are whole, else of 32 bits, floating.
  std::string give(Array& array, bool keep_whole) const;

 private:
  static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

  void count_one();

  std::vector<double> numbers_;
  std::vector<std::string> texts_;
  std::vector<std::size_t> counts_;  ///< in each list that is open
  std::vector<std::size_t> sizes_;   ///< of lists at each depth
  std::size_t examples_ = 0;
  std::size_t depth_ = 0;
  bool whole_ = true;
};

}  // namespace fedstride

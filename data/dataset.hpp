#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/shape.hpp"

namespace fedstride {

using Label = std::uint16_t;
using Row = std::uint32_t;  ///< index of an example in its data set

/// A set of labelled examples: a value, immutable once read, shared by all threads.
/// Pictures stay 8-bit, one example after the other, each as planes (channel, row, column) as in the CIFAR files;
/// other data are floats, one row of columns an example. Exactly one of `pixels` and `features` is used.
struct Dataset {
  std::string name;
  Shape shape;
  int classes = 0;
  std::vector<std::string> class_names;  ///< empty, or one a class
  /// Order in which the pathological partition deals out classes; consecutive ones go to one client.
  std::vector<int> class_order;

  std::vector<std::uint8_t> pixels;
  std::vector<float> features;
  std::vector<Label> labels;
  /// Natural clients: their names, and the number of each row's client in it. Both empty: the data name none. Both parts of a
  /// data set have the same names.
  std::vector<std::string> client_names;
  std::vector<std::uint32_t> clients;
  /// The position of each row in them, if only some are kept (keep_rows); empty: row r is the r-th.
  std::vector<Row> places;

  /// The model's input is (value / 255 - mean) / deviation per channel for pixels, (value - mean) / deviation per column
  /// for features.
  std::vector<float> mean;
  std::vector<float> deviation;

  std::size_t size() const { return labels.size(); }
  std::size_t place(Row row) const { return places.empty() ? row : places[row]; }
  bool is_pictures() const { return !pixels.empty(); }
};

/// The data set behind a name on the command line.
struct DataPair {
  Dataset train;
  Dataset test;
  std::string hash;  ///< SHA-256 of both parts' contents
};

}  // namespace fedstride

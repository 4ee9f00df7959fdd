#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "partitions/client_rows.hpp"

namespace fedstride {

/// The input of a partition.
struct PartitionInput {
  std::span<const std::uint16_t> labels;  ///< of the whole data set, indexed by row
  std::span<const std::uint32_t> rows;    ///< the training rows to deal out, without repeats
  int classes = 0;
  std::span<const int> class_order;  ///< a permutation of the classes; empty: 0, 1, 2, ...
  int clients = 0;
  std::uint64_t seed = 0;
  std::span<const float> property = {};  ///< of the whole data set, indexed by row; empty unless the part asks for one
  std::span<const std::uint32_t> client_of_row = {};  ///< the natural client of each row of the data set; empty: they name none
  std::size_t natural_clients = 0;                    ///< their number
  std::span<const std::uint32_t> file_rows = {};      ///< the number of each row in its file; empty: the same
  std::size_t rows_in_file = 0;                       ///< with file_rows: those held out as the test part, too
};

/// The facts that the assignment of a row follows from, besides the settings. Under privacy they decide which neighbours a guarantee can
/// be about (run/neighbours.hpp): where rows are dealt out, one more of them moves others.
enum class Dealing {
  given,     ///< the data, a file or the clients say whose it is, whatever other rows there are
  counts,    ///< its number and how many rows there are
  labels,    ///< the labels of all rows
  features,  ///< the inputs of all rows
};

/// A part of the family: every row of the input in exactly one list, no list empty, in a time bounded by the sizes
/// alone; or Error (usage) with the reason. The same input gives the same lists. It returns an Assignment, or ClientRows,
/// which have room for ten million clients. A part that is told how many rows to deal out, by its settings or a file, may leave
/// others out. A part may have besides
///   const std::string& needs_property() const;  the property of examples that it wants in the input ("mean", "7")
///   std::string& reads();                       the setting with the path of the file that its lists follow from
template <class Part>
concept Partition = requires(const Part part, const PartitionInput& input) {
  { Part::kName } -> std::convertible_to<std::string_view>;
  { Part::kSummary } -> std::convertible_to<std::string_view>;
  { Part::kDealing } -> std::convertible_to<Dealing>;
  Part::kFields;
  { part.assign(input) } -> std::convertible_to<ClientRows>;
};

/// The input's rows in lists by the group of their natural client: `group_of` of each, below `groups`.
ClientRows rows_by_group(const PartitionInput& input, std::span<const std::uint32_t> group_of, std::size_t groups);

/// Throws Error (usage) unless there is at least one client, at least one row for each, and every row has a label below
/// `classes`. Every part begins with it.
void check_input(const PartitionInput& input);

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitions/client_rows.hpp"

namespace fedstride {

/// The input of a partition.
struct PartitionInput {
  std::span<const std::uint16_t> labels;  ///< for the whole data set, indexed by row
  std::span<const std::uint32_t> rows;    ///< the training rows to assign, without repeats
  int classes = 0;
  std::span<const int> class_order;  ///< a permutation of the classes; empty: 0, 1, 2, ...
  int clients = 0;
  std::uint64_t seed = 0;
  std::span<const float> property = {};  ///< for the whole data set, indexed by row; empty unless the partition needs it
  std::span<const std::uint32_t> client_of_row =
      {};                                         ///< the natural client of each row of the data set; empty if the data name none
  std::size_t natural_clients = 0;                ///< number of natural clients
  std::span<const std::uint32_t> file_rows = {};  ///< the number of each row in its file; empty if unchanged
  std::size_t rows_in_file = 0;                   ///< used with file_rows; includes rows held out for testing
};

/// What a row's assignment depends on in addition to the settings. With differential privacy, this decides which neighboring data
/// sets a guarantee can cover (sim/settings/neighbours.hpp): unless the dealing is `given`, adding a row can move others.
enum class Dealing {
  given,     ///< assigned by the data, a file or the clients, regardless of other rows
  counts,    ///< the row's number and the number of rows
  labels,    ///< the labels of all rows
  features,  ///< the inputs of all rows
};

/// The input's rows grouped by natural client: `group_of` gives each natural client's group, below `groups`.
ClientRows rows_by_group(const PartitionInput& input, std::span<const std::uint32_t> group_of, std::size_t groups);

/// Throws Error (usage) unless there is at least one client and at least one row per client, the rows exist and are distinct,
/// their labels are below `classes`, and the class order is valid. Every part calls this first.
void check_input(const PartitionInput& input);

}  // namespace fedstride

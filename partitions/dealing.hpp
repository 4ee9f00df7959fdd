#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// The purpose of a partition's draw: the step of its address. The numbers affect every result.
enum class PartitionDraw : std::uint32_t {
  row_order = 1,      ///< all rows
  class_rows = 2,     ///< the rows of one class (row = class)
  shard_order = 3,    ///< which client gets which shard
  client_shares = 4,  ///< a class's shares over the clients (row = class)
  class_shares = 5,   ///< a client's shares over the classes (client)
  class_picks = 6,    ///< which class each row of a client comes from (client)
  natural_order = 7,  ///< natural clients
};

/// The stream at (purpose partition, client, step = draw, row).
RandomStream partition_stream(std::uint64_t seed, PartitionDraw draw, std::size_t client = 0, std::size_t row = 0);

/// All rows of the input in random order.
std::vector<std::uint32_t> shuffled_rows(const PartitionInput& input);

/// The rows of each class in random order.
std::vector<std::vector<std::uint32_t>> shuffled_rows_by_class(const PartitionInput& input);

/// Piece `index` of `count` consecutive pieces of the rows, whose sizes differ by one at most, the larger ones first.
std::span<const std::uint32_t> even_piece(std::span<const std::uint32_t> rows, std::size_t index, std::size_t count);

/// Gives every client without a row one of the client that has the most (the first such client), then sorts each list.
/// Requires at least as many rows as clients; no client that had a row loses its last one.
void finish(Assignment& assignment);

}  // namespace fedstride

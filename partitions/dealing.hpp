#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// The purpose of a partition's draw, used as the `step` of its address. Changing a number changes every result.
enum class PartitionDraw : std::uint32_t {
  row_order = 1,       ///< all rows
  class_rows = 2,      ///< the rows of one class (row = class)
  shard_order = 3,     ///< which client gets which shard
  client_shares = 4,   ///< a class's shares across clients (row = class)
  class_shares = 5,    ///< a client's shares across classes (client)
  class_picks = 6,     ///< which class each row of a client comes from (client)
  client_sizes = 7,    ///< client sizes, in consecutive draws
  turns = 8,           ///< which client takes the next row, and from which class
  property = 9,        ///< noise on the rows' property, in consecutive draws
  natural_order = 10,  ///< order of the natural clients
  held_classes = 11,   ///< the classes a client holds (client)
  capped_shares = 12,  ///< a class's shares across clients below the cap (client = draw, row = class)
};

/// The random stream at the address (purpose partition, client, step = draw, row).
RandomStream partition_stream(std::uint64_t seed, PartitionDraw draw, std::size_t client = 0, std::size_t row = 0);

/// All rows of the input, in random order.
std::vector<std::uint32_t> shuffled_rows(const PartitionInput& input);

/// The rows of each class, in random order.
std::vector<std::vector<std::uint32_t>> shuffled_rows_by_class(const PartitionInput& input);

/// The classes that have rows, in the data set's class order. `by_class` holds the rows of each class.
std::vector<std::size_t> classes_with_rows(const PartitionInput& input, std::span<const std::vector<std::uint32_t>> by_class);

inline constexpr std::string_view kClassesPerClientHelp =
    "classes per client; auto: 2, or more if only they cover every class; 0: the fewest that cover every class";

/// The number of classes that each client holds: `asked`; if that is 0, the fewest that cover every class; if it is auto, at least
/// 2 (McMahan et al. 2017), if there are 2. Throws Error (usage) if there are not that many classes.
std::size_t classes_per_client_of(const AutoWhole& asked, std::size_t clients, std::size_t classes);

/// How evenly `clients` times `held` places hold the classes: "14 places for 10 classes: 4 classes are held by 2 clients, the
/// others by 1"; empty if all are held by equally many.
std::string unevenly_held(std::size_t clients, std::size_t held, std::size_t classes);

/// Piece `index` of the rows cut into `count` consecutive pieces whose sizes differ by at most one, larger pieces first.
std::span<const std::uint32_t> even_piece(std::span<const std::uint32_t> rows, std::size_t index, std::size_t count);

/// Sizes that sum to `rows`, in proportion to the weights (finite, nonnegative, not all 0), by the largest remainder method:
/// quotas are rounded down, and leftover rows go to the largest remainders (the first, if tied). Each client left without a row
/// then takes one from the largest client (the first, if tied). Requires at least as many rows as weights.
std::vector<std::size_t> sizes_in_proportion(std::span<const double> weights, std::size_t rows);

/// The shuffled rows cut into lists of these sizes; rows beyond their sum are omitted.
ClientRows dealt_by_size(const PartitionInput& input, std::span<const std::size_t> sizes);

/// Moves a row from the largest client (the first, if tied) to each client without rows, then sorts each list. Requires at least
/// as many rows as clients; no client loses its last row.
void finish(Assignment& assignment);

}  // namespace fedstride

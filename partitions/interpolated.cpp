#include "partitions/interpolated.hpp"

#include <algorithm>
#include <cmath>

#include "partitions/dealing.hpp"
#include "partitions/pathological.hpp"

namespace fedstride {
namespace {

// The sizes after `extra` more rows have been added so that the sizes are as even as possible: only the smallest grow.
std::vector<std::size_t> levelled(const std::vector<std::size_t>& sizes, std::size_t extra) {
  std::vector<std::size_t> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  std::size_t total = extra;
  for (const std::size_t size : sorted) total += size;
  std::size_t count = sorted.size();  // how many of the smallest grow: those at or below the level
  while (sorted[count - 1] * count > total) total -= sorted[--count];

  const std::size_t level = total / count;
  std::size_t larger = total % count;
  std::vector<std::size_t> result = sizes;
  for (std::size_t& size : result) {
    if (size > sorted[count - 1]) continue;
    size = level + (larger > 0 ? 1 : 0);
    larger -= larger > 0 ? 1 : 0;
  }
  return result;
}

}  // namespace

ClientRows Interpolated::assign(const PartitionInput& input) const {
  check();
  Assignment assignment = Pathological::dealt(input, classes_per_client);

  auto pool = shuffled_rows(input);
  pool.resize(static_cast<std::size_t>(std::llround(random_fraction * static_cast<double>(pool.size()))));
  std::vector<bool> pooled(input.labels.size(), false);
  for (const std::uint32_t row : pool) pooled[row] = true;

  std::vector<std::size_t> kept;
  for (auto& rows : assignment) {
    std::erase_if(rows, [&](std::uint32_t row) { return pooled[row]; });
    kept.push_back(rows.size());
  }
  const auto sizes = levelled(kept, pool.size());
  auto next = pool.begin();
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    const auto end = next + static_cast<std::ptrdiff_t>(sizes[client] - kept[client]);
    assignment[client].insert(assignment[client].end(), next, end);
    next = end;
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride

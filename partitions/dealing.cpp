#include "partitions/dealing.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace fedstride {

RandomStream partition_stream(std::uint64_t seed, PartitionDraw draw, std::size_t client, std::size_t row) {
  return {seed,
          {.purpose = Purpose::partition,
           .client = static_cast<std::uint32_t>(client),
           .step = static_cast<std::uint32_t>(draw),
           .row = static_cast<std::uint32_t>(row)}};
}

std::vector<std::uint32_t> shuffled_rows(const PartitionInput& input) {
  std::vector<std::uint32_t> rows(input.rows.begin(), input.rows.end());
  RandomStream random = partition_stream(input.seed, PartitionDraw::row_order);
  shuffle(std::span(rows), random);
  return rows;
}

std::vector<std::vector<std::uint32_t>> shuffled_rows_by_class(const PartitionInput& input) {
  std::vector<std::vector<std::uint32_t>> by_class(static_cast<std::size_t>(input.classes));
  for (const std::uint32_t row : input.rows) by_class[input.labels[row]].push_back(row);
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    RandomStream random = partition_stream(input.seed, PartitionDraw::class_rows, 0, label);
    shuffle(std::span(by_class[label]), random);
  }
  return by_class;
}

std::span<const std::uint32_t> even_piece(std::span<const std::uint32_t> rows, std::size_t index, std::size_t count) {
  const std::size_t begin = index == 0 ? 0 : end_of_even_piece(rows.size(), index - 1, count);
  return rows.subspan(begin, end_of_even_piece(rows.size(), index, count) - begin);
}

void finish(Assignment& assignment) {
  // Largest first, and of equals the lowest index.
  std::priority_queue<std::pair<std::size_t, std::ptrdiff_t>> donors;
  std::vector<std::size_t> empty;
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    if (assignment[client].empty())
      empty.push_back(client);
    else
      donors.emplace(assignment[client].size(), -static_cast<std::ptrdiff_t>(client));
  }
  for (const std::size_t client : empty) {
    const auto [size, minus_index] = donors.top();
    donors.pop();
    auto& donor = assignment[static_cast<std::size_t>(-minus_index)];
    assignment[client].push_back(donor.back());
    donor.pop_back();
    donors.emplace(size - 1, minus_index);
  }
  for (auto& rows : assignment) std::sort(rows.begin(), rows.end());
}

}  // namespace fedstride

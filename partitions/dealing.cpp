#include "partitions/dealing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

/// Clients keyed by (size, -number): the largest first, ties broken by the lowest number.
using Donors = std::priority_queue<std::pair<std::size_t, std::ptrdiff_t>>;

/// Returns the largest client and decrements its size.
std::size_t take_from_largest(Donors& donors) {
  const auto [size, minus_index] = donors.top();
  donors.pop();
  donors.emplace(size - 1, minus_index);
  return static_cast<std::size_t>(-minus_index);
}

}  // namespace

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

std::vector<std::size_t> classes_with_rows(const PartitionInput& input, std::span<const std::vector<std::uint32_t>> by_class) {
  std::vector<int> order(input.class_order.begin(), input.class_order.end());
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(input.classes));
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<std::size_t> present;
  for (const int label : order)
    if (!by_class[static_cast<std::size_t>(label)].empty()) present.push_back(static_cast<std::size_t>(label));
  return present;
}

std::size_t classes_per_client_of(const AutoWhole& asked, std::size_t clients, std::size_t classes) {
  const std::size_t least = (classes + clients - 1) / clients;
  if (asked.is_auto) return std::min(std::max<std::size_t>(least, 2), classes);
  if (asked.value == 0) return least;
  if (static_cast<std::size_t>(asked.value) > classes)
    throw usage_error("classes-per-client is " + std::to_string(asked.value) + "; with " + counted(classes, "class", "classes") +
                      " it must be a whole number up to " + std::to_string(classes) + ", or 0 for the fewest that cover all");
  return static_cast<std::size_t>(asked.value);
}

std::string unevenly_held(std::size_t clients, std::size_t held, std::size_t classes) {
  const std::size_t places = clients * held, more = places % classes, holders = places / classes;
  if (more == 0) return {};
  return std::to_string(places) + " places for " + counted(classes, "class", "classes") + ": " +
         counted(more, "class", "classes") + (more == 1 ? " is" : " are") + " held by " + counted(holders + 1, "client") +
         ", the others by " + (holders == 0 ? "none, so that their rows are in no client" : std::to_string(holders));
}

std::span<const std::uint32_t> even_piece(std::span<const std::uint32_t> rows, std::size_t index, std::size_t count) {
  const std::size_t begin = index == 0 ? 0 : end_of_even_piece(rows.size(), index - 1, count);
  return rows.subspan(begin, end_of_even_piece(rows.size(), index, count) - begin);
}

std::vector<std::size_t> sizes_in_proportion(std::span<const double> weights, std::size_t rows) {
  // Scale first, because weights may be as large as the largest double.
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;
  std::vector<std::size_t> sizes(weights.size());
  std::vector<double> remainders(weights.size());
  std::size_t left = rows;
  for (std::size_t client = 0; client < weights.size(); ++client) {
    const double quota = weights[client] / largest / sum * static_cast<double>(rows);
    sizes[client] = std::min(left, static_cast<std::size_t>(quota));
    remainders[client] = quota - static_cast<double>(sizes[client]);
    left -= sizes[client];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++sizes[order[i]];

  Donors donors;
  for (std::size_t client = 0; client < sizes.size(); ++client)
    if (sizes[client] > 0) donors.emplace(sizes[client], -static_cast<std::ptrdiff_t>(client));
  for (std::size_t& size : sizes) {
    if (size > 0) continue;
    --sizes[take_from_largest(donors)];
    size = 1;
  }
  return sizes;
}

ClientRows dealt_by_size(const PartitionInput& input, std::span<const std::size_t> sizes) {
  auto rows = shuffled_rows(input);
  rows.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  return {std::move(rows), sizes};
}

void finish(Assignment& assignment) {
  Donors donors;
  std::vector<std::size_t> empty;
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    if (assignment[client].empty())
      empty.push_back(client);
    else
      donors.emplace(assignment[client].size(), -static_cast<std::ptrdiff_t>(client));
  }
  for (const std::size_t client : empty) {
    auto& donor = assignment[take_from_largest(donors)];
    assignment[client].push_back(donor.back());
    donor.pop_back();
  }
  for (auto& rows : assignment) std::sort(rows.begin(), rows.end());
}

}  // namespace fedstride

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "core/random.hpp"
#include "partitions/partition.hpp"

namespace fedstride::test {

/// Labels with an input that deals out all their rows. Not copied: the input points into it.
struct Example {
  Example(std::vector<std::uint16_t> all_labels, int classes, int clients, std::uint64_t seed = 1)
      : labels(std::move(all_labels)), rows(labels.size()), property(labels.size()) {
    std::iota(rows.begin(), rows.end(), 0U);
    RandomStream random(1, {.purpose = Purpose::test, .round = 2});
    for (float& value : property) value = random.uniform_float();
    input = {.labels = labels,
             .rows = rows,
             .classes = classes,
             .class_order = {},
             .clients = clients,
             .seed = seed,
             .property = property};
  }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;

  std::vector<std::uint16_t> labels;
  std::vector<std::uint32_t> rows;
  std::vector<float> property;  ///< uniform in [0, 1)
  PartitionInput input;
};

inline std::vector<std::uint16_t> round_robin_labels(std::size_t count, std::size_t classes) {
  std::vector<std::uint16_t> labels;
  for (std::size_t row = 0; row < count; ++row) labels.push_back(static_cast<std::uint16_t>(row % classes));
  return labels;
}

inline std::vector<std::uint16_t> random_labels(std::size_t count, std::uint64_t classes, std::uint64_t seed) {
  RandomStream random(seed, {.purpose = Purpose::test});
  std::vector<std::uint16_t> labels;
  for (std::size_t row = 0; row < count; ++row) labels.push_back(static_cast<std::uint16_t>(random.below(classes)));
  return labels;
}

inline std::vector<std::size_t> class_counts(std::span<const std::uint32_t> rows, const Example& example) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(example.input.classes));
  for (const std::uint32_t row : rows) ++counts[example.labels[row]];
  return counts;
}

inline std::set<int> classes_of(std::span<const std::uint32_t> rows, const Example& example) {
  std::set<int> classes;
  for (const std::uint32_t row : rows) classes.insert(example.labels[row]);
  return classes;
}

inline bool holds_every_row_once(const ClientRows& assignment, const Example& example) {
  std::vector<std::uint32_t> all;
  for (const auto& rows : assignment) all.insert(all.end(), rows.begin(), rows.end());
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> expected(example.input.rows.begin(), example.input.rows.end());
  std::sort(expected.begin(), expected.end());
  return all == expected;
}

}  // namespace fedstride::test

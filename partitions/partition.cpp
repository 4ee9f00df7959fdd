#include "partitions/partition.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

void check_class_order(const PartitionInput& input) {
  if (input.class_order.empty()) return;
  std::vector<bool> seen(static_cast<std::size_t>(input.classes), false);
  bool valid = input.class_order.size() == seen.size();
  for (const int label : input.class_order) {
    valid = valid && label >= 0 && label < input.classes && !seen[static_cast<std::size_t>(label)];
    if (valid) seen[static_cast<std::size_t>(label)] = true;
  }
  if (!valid)
    throw usage_error("the class order is invalid; it must name each of the " + std::to_string(input.classes) + " classes once");
}

}  // namespace

ClientRows rows_by_group(const PartitionInput& input, std::span<const std::uint32_t> group_of, std::size_t groups) {
  std::vector<std::size_t> sizes(groups, 0);
  const auto group = [&](std::uint32_t row) { return group_of[input.client_of_row[row]]; };
  for (const std::uint32_t row : input.rows) ++sizes[group(row)];
  std::vector<std::size_t> next(groups, 0);
  for (std::size_t i = 1; i < groups; ++i) next[i] = next[i - 1] + sizes[i - 1];
  std::vector<std::uint32_t> rows(input.rows.size());
  for (const std::uint32_t row : input.rows) rows[next[group(row)]++] = row;
  return {std::move(rows), sizes};
}

void check_input(const PartitionInput& input) {
  const std::size_t rows = input.rows.size();
  if (input.clients < 1 || static_cast<std::size_t>(input.clients) > rows)
    throw usage_error("clients is " + std::to_string(input.clients) + "; it must be a whole number from 1 to " +
                      std::to_string(rows) + ", the number of training rows");
  std::vector<bool> seen(input.labels.size(), false);
  for (const std::uint32_t row : input.rows) {
    if (row >= input.labels.size())
      throw usage_error("row " + std::to_string(row) + " does not exist; the data set has " +
                        counted(input.labels.size(), "row"));
    if (seen[row]) throw usage_error("row " + std::to_string(row) + " is listed twice; each row can be assigned only once");
    seen[row] = true;
    if (static_cast<int>(input.labels[row]) >= input.classes)
      throw usage_error("row " + std::to_string(row) + " has label " + std::to_string(input.labels[row]) + "; it must be below " +
                        std::to_string(input.classes) + ", the number of classes");
  }
  check_class_order(input);
}

}  // namespace fedstride

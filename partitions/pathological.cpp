#include "partitions/pathological.hpp"

#include <numeric>
#include <string>

#include "core/text.hpp"
#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

using RowsByClass = std::vector<std::vector<std::uint32_t>>;

// The classes that have rows, in the order in which they are dealt out.
std::vector<std::size_t> classes_with_rows(const PartitionInput& input, const RowsByClass& by_class) {
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

std::size_t places_per_client(int asked, std::size_t clients, std::size_t classes) {
  const std::size_t least = (classes + clients - 1) / clients;
  if (asked == 0) return least;
  if (asked < 0 || static_cast<std::size_t>(asked) < least || static_cast<std::size_t>(asked) > classes)
    throw usage_error("classes-per-client is " + std::to_string(asked) + "; with " + counted(clients, "client") +
                      " and rows of " + counted(classes, "class", "classes") + " it must be a whole number from " +
                      std::to_string(least) + " to " + std::to_string(classes) + ", or 0 for the least");
  return static_cast<std::size_t>(asked);
}

}  // namespace

Assignment Pathological::assign(const PartitionInput& input) const {
  check_input(input);
  const auto clients = static_cast<std::size_t>(input.clients);
  const auto by_class = shuffled_rows_by_class(input);
  const auto present = classes_with_rows(input, by_class);
  const std::size_t places = clients * places_per_client(classes_per_client, clients, present.size());

  Assignment assignment(clients);
  for (std::size_t i = 0; i < present.size(); ++i) {
    const auto& rows = by_class[present[i]];
    const std::size_t holders = (places - i + present.size() - 1) / present.size();  // places i, i + classes, ...
    for (std::size_t holder = 0; holder < holders; ++holder) {
      auto& list = assignment[(i + holder * present.size()) / (places / clients)];
      const auto piece = even_piece(rows, holder, holders);
      list.insert(list.end(), piece.begin(), piece.end());
    }
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride

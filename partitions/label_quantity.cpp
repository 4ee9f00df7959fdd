#include "partitions/label_quantity.hpp"

#include <utility>

#include "partitions/dealing.hpp"

namespace fedstride {

Assignment LabelQuantity::assign(const PartitionInput& input) const {
  check_input(input);
  const auto clients = static_cast<std::size_t>(input.clients);
  const auto by_class = shuffled_rows_by_class(input);
  const auto present = classes_with_rows(input, by_class);
  const std::size_t held = classes_per_client_of(classes_per_client, clients, present.size());

  std::vector<std::vector<std::size_t>> holders(present.size());
  std::vector<std::size_t> order(present.size());
  for (std::size_t client = 0; client < clients; ++client) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::size_t taken = 0;
    for (std::size_t own = client % order.size(); own < order.size(); own += clients) std::swap(order[taken++], order[own]);
    RandomStream random = partition_stream(input.seed, PartitionDraw::held_classes, client);
    for (; taken < held; ++taken) std::swap(order[taken], order[taken + random.below(order.size() - taken)]);
    for (std::size_t i = 0; i < held; ++i) holders[order[i]].push_back(client);
  }

  Assignment assignment(clients);
  for (std::size_t i = 0; i < present.size(); ++i)
    for (std::size_t holder = 0; holder < holders[i].size(); ++holder) {
      auto& list = assignment[holders[i][holder]];
      const auto piece = even_piece(by_class[present[i]], holder, holders[i].size());
      list.insert(list.end(), piece.begin(), piece.end());
    }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride

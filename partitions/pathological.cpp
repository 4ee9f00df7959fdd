#include "partitions/pathological.hpp"

#include "partitions/dealing.hpp"

namespace fedstride {

Assignment Pathological::assign(const PartitionInput& input) const {
  check_input(input);
  const auto clients = static_cast<std::size_t>(input.clients);
  const auto by_class = shuffled_rows_by_class(input);
  const auto present = classes_with_rows(input, by_class);
  const std::size_t places = clients * classes_per_client_of(classes_per_client, clients, present.size());

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

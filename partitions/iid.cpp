#include "partitions/iid.hpp"

#include "partitions/dealing.hpp"

namespace fedstride {

Assignment Iid::assign(const PartitionInput& input) const {
  check_input(input);
  const auto rows = shuffled_rows(input);
  Assignment assignment(static_cast<std::size_t>(input.clients));
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    const auto piece = even_piece(rows, client, assignment.size());
    assignment[client].assign(piece.begin(), piece.end());
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride

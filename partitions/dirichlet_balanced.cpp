#include "partitions/dirichlet_balanced.hpp"

#include "partitions/class_mixture.hpp"

namespace fedstride {

Assignment DirichletBalanced::assign(const PartitionInput& input) const {
  check_input(input);
  check_settings(*this);
  std::vector<std::size_t> sizes(static_cast<std::size_t>(input.clients));
  for (std::size_t client = 0; client < sizes.size(); ++client)
    sizes[client] = even_piece(input.rows, client, sizes.size()).size();
  return dealt_by_mixture(input, alpha, sizes);
}

}  // namespace fedstride

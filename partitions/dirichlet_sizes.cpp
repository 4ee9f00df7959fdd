#include "partitions/dirichlet_sizes.hpp"

#include "partitions/class_mixture.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {
namespace {

std::vector<std::size_t> drawn_sizes(const PartitionInput& input, double concentration) {
  const std::vector<double> concentrations(static_cast<std::size_t>(input.clients), concentration);
  RandomStream random = partition_stream(input.seed, PartitionDraw::client_sizes);
  return sizes_in_proportion(normalized(log_gammas(concentrations, random)), input.rows.size());
}

}  // namespace

ClientRows DirichletSizes::assign(const PartitionInput& input) const {
  check_input(input);
  check();
  return dealt_by_size(input, drawn_sizes(input, size_alpha));
}

ClientRows DirichletBoth::assign(const PartitionInput& input) const {
  check_input(input);
  check();
  return dealt_by_mixture(input, alpha, drawn_sizes(input, size_alpha));
}

}  // namespace fedstride

#include "partitions/graded.hpp"

#include <cmath>

#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

template <class WeightOf>
ClientRows dealt_by_weight(const PartitionInput& input, WeightOf weight_of) {
  check_input(input);
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(input.clients));
  for (int client = 0; client < input.clients; ++client) weights.push_back(weight_of(static_cast<double>(client)));
  return dealt_by_size(input, sizes_in_proportion(weights, input.rows.size()));
}

}  // namespace

ClientRows Linear::assign(const PartitionInput& input) const {
  return dealt_by_weight(input, [](double client) { return client + 1; });
}

ClientRows Square::assign(const PartitionInput& input) const {
  return dealt_by_weight(input, [](double client) { return (client + 1) * (client + 1); });
}

ClientRows Exponential::assign(const PartitionInput& input) const {
  return dealt_by_weight(input, [last = input.clients - 1](double client) { return std::exp(client - last); });
}

}  // namespace fedstride

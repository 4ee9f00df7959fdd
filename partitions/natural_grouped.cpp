#include "partitions/natural_grouped.hpp"

#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "partitions/dealing.hpp"
#include "partitions/natural.hpp"

namespace fedstride {

ClientRows NaturalGrouped::assign(const PartitionInput& input) const {
  check_input(input);
  std::vector<std::uint32_t> present = natural_clients(input);
  const auto each = static_cast<std::size_t>(natural_per_client);
  const std::size_t groups = (present.size() + each - 1) / each;
  if (groups != static_cast<std::size_t>(input.clients))
    throw usage_error("clients is " + std::to_string(input.clients) + "; " + counted(present.size(), "client") +
                      " that the data name make " + std::to_string(groups) + " of " + std::to_string(each) +
                      " each, at most that many are valid, or 0 for all");
  RandomStream random = partition_stream(input.seed, PartitionDraw::natural_order);
  shuffle(std::span(present), random);
  std::vector<std::uint32_t> places(input.natural_clients);
  for (std::size_t i = 0; i < present.size(); ++i) places[present[i]] = static_cast<std::uint32_t>(i / each);
  return rows_by_group(input, places, groups);
}

}  // namespace fedstride

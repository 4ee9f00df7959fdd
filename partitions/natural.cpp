#include "partitions/natural.hpp"

#include <string>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

std::vector<std::uint32_t> natural_clients(const PartitionInput& input) {
  if (input.client_of_row.size() != input.labels.size() || input.client_of_row.empty())
    throw usage_error(
        "the data name no clients, but this partition needs their names; use data with them (docs/data.md) or another partition");
  std::vector<bool> seen(input.natural_clients, false);
  for (const std::uint32_t row : input.rows) seen[input.client_of_row[row]] = true;
  std::vector<std::uint32_t> clients;
  for (std::uint32_t client = 0; client < seen.size(); ++client)
    if (seen[client]) clients.push_back(client);
  return clients;
}

ClientRows Natural::assign(const PartitionInput& input) const {
  check_input(input);
  const std::vector<std::uint32_t> present = natural_clients(input);
  if (present.size() != static_cast<std::size_t>(input.clients))
    throw usage_error("clients is " + std::to_string(input.clients) + "; the data have " +
                      counted(present.size(), "natural client") + " with training rows; use at most that many, or 0 for all");
  std::vector<std::uint32_t> places(input.natural_clients);
  for (std::size_t i = 0; i < present.size(); ++i) places[present[i]] = static_cast<std::uint32_t>(i);
  return rows_by_group(input, places, present.size());
}

}  // namespace fedstride

#include "run/natural_clients.hpp"

#include <limits>
#include <utility>

#include "core/text.hpp"
#include "partitions/natural.hpp"
#include "partitions/natural_grouped.hpp"

namespace fedstride {

void choose_natural_clients(Setup& setup, PartitionInput& input, std::vector<Row>& rows) {
  const std::vector<std::uint32_t> present = natural_clients(input);
  std::size_t each = 1;
  if (const auto* grouped = setup.configuration.partition.as<NaturalGrouped>())
    each = static_cast<std::size_t>(grouped->natural_per_client);
  if (input.clients == 0) {
    input.clients = static_cast<int>((present.size() + each - 1) / each);
  } else if (const std::size_t wanted = each * static_cast<std::size_t>(input.clients); wanted < present.size()) {
    const std::size_t before = rows.size();
    std::erase_if(rows, [&](Row row) { return input.client_of_row[row] >= present[wanted]; });
    input.rows = rows;
    setup.notes.push_back("the first " + std::to_string(wanted) + " of " + counted(present.size(), "client") +
                          " that the data name take part; " + counted(before - rows.size(), "row") + " of the others " +
                          (before - rows.size() == 1 ? "is" : "are") + " not used");
  }
  setup.configuration.clients = input.clients;
  check_together(setup.configuration);
}

void find_client_test(Setup& setup) {
  const Dataset& test = setup.data.test;
  if (test.clients.empty()) return;
  constexpr auto kNobody = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> holder(test.client_names.size(), kNobody);
  for (std::uint32_t client = 0; client < setup.rows.size(); ++client)
    for (const Row row : setup.rows[client]) holder[setup.data.train.clients[row]] = client;
  std::vector<std::size_t> sizes(setup.rows.size(), 0);
  for (const std::uint32_t natural : test.clients)
    if (holder[natural] != kNobody) ++sizes[holder[natural]];
  std::vector<std::size_t> next(sizes.size(), 0);
  for (std::size_t i = 1; i < sizes.size(); ++i) next[i] = next[i - 1] + sizes[i - 1];
  std::vector<Row> rows(sizes.empty() ? 0 : next.back() + sizes.back());
  if (rows.empty()) return;
  for (Row row = 0; row < test.size(); ++row)
    if (const std::uint32_t client = holder[test.clients[row]]; client != kNobody) rows[next[client]++] = row;
  setup.client_test = ClientRows(std::move(rows), sizes);
  setup.client_test_is_of_test_part = true;
}

}  // namespace fedstride

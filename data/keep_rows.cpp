#include "data/keep_rows.hpp"

#include <algorithm>
#include <vector>

#include "data/row_lists.hpp"

namespace fedstride {
void keep_rows(Dataset& data, std::span<const Row> rows) {
  std::vector<Row> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted);
  data.places.assign(data.size(), Row{0});
  for (std::size_t i = 0; i < sorted.size(); ++i) data.places[sorted[i]] = static_cast<Row>(i);
  for_each_list(data, [&](auto& values, std::size_t width, auto) { values = taken(values, width, sorted); });
}

}  // namespace fedstride

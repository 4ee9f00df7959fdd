#include "data/keep_rows.hpp"

#include <algorithm>

namespace fedstride {
namespace {

template <class Value>
std::vector<Value> kept(const std::vector<Value>& all, std::span<const Row> rows, std::size_t size) {
  std::vector<Value> some;
  if (all.empty()) return some;
  some.reserve(rows.size() * size);
  for (const Row row : rows)
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(row * size),
                all.begin() + static_cast<std::ptrdiff_t>((row + 1) * size));
  return some;
}

}  // namespace

void keep_rows(Dataset& data, std::span<const Row> rows) {
  const std::size_t size = data.shape.size();
  std::vector<Row> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted);
  data.places.assign(data.size(), Row{0});
  for (std::size_t i = 0; i < sorted.size(); ++i) data.places[sorted[i]] = static_cast<Row>(i);
  data.pixels = kept(data.pixels, sorted, size);
  data.features = kept(data.features, sorted, size);
  data.tokens = kept(data.tokens, sorted, size);
  data.labels = kept(data.labels, sorted, 1);
  data.position_labels = kept(data.position_labels, sorted, data.form().answers());
  data.values = kept(data.values, sorted, data.form().answers());
}

}  // namespace fedstride

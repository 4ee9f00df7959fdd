#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

/// Calls use(list, values a row, the list's member) for every list of examples and answers of a data set, but not for `clients`,
/// which a set that keeps some examples alone still has of every row (keep_rows).
template <class Some, class Use>
void for_each_list(Some& data, Use use) {
  const std::size_t size = data.shape.size(), answers = data.form().answers();
  use(data.labels, 1, &Dataset::labels);
  use(data.pixels, size, &Dataset::pixels);
  use(data.features, size, &Dataset::features);
  use(data.tokens, size, &Dataset::tokens);
  use(data.position_labels, answers, &Dataset::position_labels);
  use(data.values, answers, &Dataset::values);
}

/// The values of these rows, `width` a row; none if there are none of any row.
template <class List>
auto taken(const List& all, std::size_t width, std::span<const Row> rows) {
  std::vector<typename List::value_type> some;
  if (all.empty()) return some;
  some.reserve(rows.size() * width);
  for (const Row row : rows)
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(row * width),
                all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  return some;
}

}  // namespace fedstride

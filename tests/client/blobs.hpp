#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "data/dataset.hpp"

namespace fedstride::test {

// 4 features, 3 classes, rows drawn around a class's own corner.
inline Dataset blobs(std::size_t rows) {
  Dataset data;
  data.name = "blobs";
  data.shape = {1, 1, 4};
  data.classes = 3;
  for (std::size_t row = 0; row < rows; ++row) {
    RandomStream random(5, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
    const auto label = static_cast<Label>(row % 3);
    for (int column = 0; column < 4; ++column)
      data.features.push_back(static_cast<float>(random.normal() + (column == label ? 2 : 0)));
    data.labels.push_back(label);
  }
  data.mean.assign(4, 0);
  data.deviation.assign(4, 1);
  return data;
}

inline std::vector<Row> first_rows(std::size_t count) {
  std::vector<Row> rows(count);
  std::iota(rows.begin(), rows.end(), Row{0});
  return rows;
}

}  // namespace fedstride::test

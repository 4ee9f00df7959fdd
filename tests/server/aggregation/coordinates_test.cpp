#include "server/aggregation/coordinates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/floating_point.hpp"
#include "core/random.hpp"

namespace fedstride::test::coordinates_test {
namespace {

/// `count` changes with many values that occur twice.
std::vector<Vector> drawn(std::size_t count, std::size_t size) {
  std::vector<Vector> changes(count, Vector(size));
  RandomStream random(3, {.purpose = Purpose::test});
  for (Vector& change : changes)
    for (float& value : change) value = std::round(static_cast<float>(random.normal()) * 8);
  return changes;
}

}  // namespace

TEST_CASE("columns are sorted for any number of changes, in blocks that need not be full") {
  for (std::size_t count = 1; count <= 70; ++count) {
    const std::vector<Vector> changes = drawn(count, SortedColumns::kWidth + 3);
    const Changes views(changes.begin(), changes.end());
    for (const std::size_t first : {std::size_t{0}, SortedColumns::kWidth}) {
      SortedColumns columns(count);
      columns.load(views, first);
      int wrong = 0;
      for (std::size_t i = 0; i < SortedColumns::kWidth; ++i) {
        std::vector<float> values(count);
        if (first + i < views[0].size())
          std::ranges::transform(views, values.begin(), [&](auto view) { return view[first + i]; });
        std::ranges::sort(values);
        for (std::size_t rank = 0; rank < count; ++rank) wrong += columns[rank][i] != values[rank];
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("every coordinate is filled, at the bounds of pieces too") {
  for (const std::size_t size : {1, 63, 64, 65, 4095, 4096, 4097, 9000}) {
    const std::vector<Vector> changes = drawn(3, size);
    const Changes views(changes.begin(), changes.end());
    const Vector largest = from_sorted_columns(views, serially, [](const SortedColumns& columns, SortedColumns::Row& row) {
      std::copy_n(columns[2], row.size(), row.begin());
    });
    const Vector sum = linear_combination(views, std::vector<double>{1, 0, -2}, serially);
    const Vector median = coordinate_median(views, serially);
    int wrong = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const float a = changes[0][i], b = changes[1][i], c = changes[2][i];
      wrong += largest[i] != std::max({a, b, c}) || sum[i] != a - 2 * c ||
               median[i] != std::max(std::min(a, b), std::min(std::max(a, b), c));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the mode of the thread that asks does not show") {
  const std::vector<Vector> changes(3, Vector(100, 1e-40F));  // smaller than any normal number
  const Changes views(changes.begin(), changes.end());
  const std::vector<double> factors(3, 1.0 / 3);
  const Vector usual = linear_combination(views, factors, serially);
  const FloatingPointMode mode;
  const Vector flushed = linear_combination(views, factors, serially);
  CHECK(std::memcmp(usual.data(), flushed.data(), usual.size() * sizeof(float)) == 0);
}

}  // namespace fedstride::test::coordinates_test

#include "data/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

std::pair<std::vector<Row>, std::vector<Row>> draw(std::size_t size, std::size_t count, RandomStream random) {
  std::vector<Row> rows(size);
  std::iota(rows.begin(), rows.end(), Row{0});
  shuffle(std::span(rows), random);
  std::vector<Row> drawn(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(rows.begin(), rows.end());
  std::sort(drawn.begin(), drawn.end());
  return {std::move(rows), std::move(drawn)};
}

/// Keeps the given ascending rows of `values`, `width` values a row.
template <class T>
void keep(std::vector<T>& values, std::size_t width, std::span<const Row> rows) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(rows[i] * width), width,
                values.begin() + static_cast<std::ptrdiff_t>(i * width));
  values.resize(rows.size() * width);
  values.shrink_to_fit();
}

void keep_only(Dataset& data, std::span<const Row> rows) {
  keep(data.labels, 1, rows);
  keep(data.pixels, data.shape.size(), rows);
  keep(data.features, data.shape.size(), rows);
  keep(data.clients, 1, rows);
}

}  // namespace

std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1))
    throw usage_error("validation-fraction is " + number_text(fraction) + "; it must be a number from 0 and below 1");
  const auto count = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(size)));
  if (count >= size)
    throw usage_error("validation-fraction " + number_text(fraction) + " leaves none of " + std::to_string(size) +
                      " rows for training; choose a smaller one");
  return draw(size, count, RandomStream(seed, {.purpose = Purpose::validation_split}));
}

std::vector<Row> draw_evaluation_rows(std::size_t size, std::size_t count, std::uint64_t seed) {
  if (count > size)
    throw usage_error("evaluate-rows is " + std::to_string(count) + "; the test part has " + counted(size, "row") +
                      ", at most that many are valid, or 0 for all");
  return draw(size, count, RandomStream(seed, {.purpose = Purpose::evaluation_rows})).second;
}

std::pair<Dataset, Dataset> split_test_part(Dataset data) {
  if (data.size() < 2) throw failure("a data set in one file needs at least two rows: one to train on, one to test on");
  const std::size_t count = std::max<std::size_t>(1, data.size() / 6);
  const auto [train_rows, test_rows] =
      draw(data.size(), count, RandomStream(0, {.purpose = Purpose::validation_split, .client = 1}));
  Dataset test = data;
  keep_only(test, test_rows);
  keep_only(data, train_rows);
  return {std::move(data), std::move(test)};
}

}  // namespace fedstride

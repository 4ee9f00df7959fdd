#include "data/split.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/row_lists.hpp"

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

/// Keeps the given ascending rows of `values`, `width` values a row, where they lie: a large set is not there twice.
template <class T>
void keep(std::vector<T>& values, std::size_t width, std::span<const Row> rows) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(rows[i] * width), width,
                values.begin() + static_cast<std::ptrdiff_t>(i * width));
  values.resize(rows.size() * width);
}

/// A lent list is copied once: the rows that are kept.
template <class T>
void keep(Borrowable<T>& values, std::size_t width, std::span<const Row> rows) {
  if (values.is_lent())
    values = taken(values, width, rows);
  else
    keep(values.edit(), width, rows);
}

Dataset with_rows(const Dataset& data, std::span<const Row> rows) {
  Dataset some;
  some.name = data.name;
  some.shape = data.shape;
  some.classes = data.classes;
  some.targets = data.targets;
  some.vocabulary = data.vocabulary;
  some.class_names = data.class_names;
  some.class_order = data.class_order;
  some.client_names = data.client_names;
  some.mean = data.mean;
  some.deviation = data.deviation;
  for_each_list(data, [&](const auto& values, std::size_t width, auto member) { some.*member = taken(values, width, rows); });
  some.clients = taken(data.clients, 1, rows);
  some.file_rows.assign(rows.begin(), rows.end());
  return some;
}

void keep_only(Dataset& data, std::span<const Row> rows) {
  for_each_list(data, [&](auto& values, std::size_t width, auto) { keep(values, width, rows); });
  keep(data.clients, 1, rows);
  data.file_rows.assign(rows.begin(), rows.end());
}

/// The rows without the first of each client, where the data name clients.
std::vector<Row> not_the_only_ones(const Dataset& data) {
  std::vector<Row> rows;
  std::vector<bool> seen(data.client_names.size());
  for (std::size_t row = 0; row < data.clients.size(); ++row) {
    if (seen[data.clients[row]]) rows.push_back(static_cast<Row>(row));
    seen[data.clients[row]] = true;
  }
  return rows;
}

/// A sixth of each client's rows, rounded down; nothing if no client has six.
std::vector<Row> drawn_by_client(const Dataset& data) {
  if (data.clients.empty()) return {};
  std::vector<std::vector<Row>> rows(data.client_names.size());
  for (std::size_t row = 0; row < data.size(); ++row) rows[data.clients[row]].push_back(static_cast<Row>(row));
  std::vector<Row> drawn;
  for (std::size_t client = 0; client < rows.size(); ++client) {
    RandomStream random(0, {.purpose = Purpose::validation_split, .client = 2, .row = static_cast<std::uint32_t>(client)});
    shuffle(std::span(rows[client]), random);
    drawn.insert(drawn.end(), rows[client].begin(), rows[client].begin() + static_cast<std::ptrdiff_t>(rows[client].size() / 6));
  }
  std::ranges::sort(drawn);
  return drawn;
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
  std::vector<Row> train_rows;
  std::vector<Row> test_rows = drawn_by_client(data);
  if (test_rows.empty()) {
    const std::size_t count = std::max<std::size_t>(1, data.size() / 6);
    const RandomStream random(0, {.purpose = Purpose::validation_split, .client = 1});
    if (const std::vector<Row> spare = not_the_only_ones(data); spare.empty())
      test_rows = draw(data.size(), count, random).second;
    else
      for (const Row place : draw(spare.size(), std::min(count, spare.size()), random).second) test_rows.push_back(spare[place]);
  }
  std::vector<Row> all(data.size());
  std::iota(all.begin(), all.end(), Row{0});
  std::ranges::set_difference(all, test_rows, std::back_inserter(train_rows));
  Dataset test = with_rows(data, test_rows);
  keep_only(data, train_rows);
  return {std::move(data), std::move(test)};
}

}  // namespace fedstride

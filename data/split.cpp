#include "data/split.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

/// Calls use(list, values per row, pointer to the list's member) for every list of a data set's examples and answers except
/// `clients` and `users`, which a reduced set keeps for every row (keep_rows).
void for_each_list(auto& data, auto use) {
  const std::size_t size = data.shape.size(), answers = data.form().answers();
  use(data.labels, 1, &Dataset::labels);
  use(data.pixels, size, &Dataset::pixels);
  use(data.features, size, &Dataset::features);
  use(data.tokens, size, &Dataset::tokens);
  use(data.position_labels, answers, &Dataset::position_labels);
  use(data.values, answers, &Dataset::values);
}

/// Returns the values of these rows in `all`, which has `width` per row; empty if `all` is empty.
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

/// The draw of a row: uniform in [0, 1), at its own address, so it does not depend on other rows.
double draw_of(std::uint64_t seed, Address address, std::size_t row) {
  address.row = static_cast<std::uint32_t>(row);
  return RandomStream(seed, address).uniform();
}

/// Keeps the given ascending rows of `values`, `width` values per row, in place, so a large set is never in memory twice.
template <class T>
void keep(std::vector<T>& values, std::size_t width, std::span<const Row> rows) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(rows[i] * width), width,
                values.begin() + static_cast<std::ptrdiff_t>(i * width));
  values.resize(rows.size() * width);
}

/// The same, except that of a lent list only the kept rows are copied.
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
  some.binary_columns = data.binary_columns;
  for_each_list(data, [&](const auto& values, std::size_t width, auto member) { some.*member = taken(values, width, rows); });
  some.clients = taken(data.clients, 1, rows);
  some.users = taken(data.users, 1, rows);
  some.file_rows.assign(rows.begin(), rows.end());
  return some;
}

void keep_only(Dataset& data, std::span<const Row> rows) {
  for_each_list(data, [&](auto& values, std::size_t width, auto) { keep(values, width, rows); });
  keep(data.clients, 1, rows);
  keep(data.users, 1, rows);
  data.file_rows.assign(rows.begin(), rows.end());
}

constexpr std::uint32_t kHeldOutRows = 1;      // `client` in the rows' addresses if the data have no clients
constexpr std::uint32_t kHeldOutOfClient = 2;  // `step` in the rows' addresses if they do

/// The draws that decide whether rows are held out. A row's draw depends on its number in the data set, or on its client's name
/// and its number among the client's rows. The first row, or the first of each client, gets a 1, so it is used for training.
std::vector<double> draws_of_rows(const Dataset& data) {
  std::vector<double> draws(data.size());
  if (data.clients.empty()) {
    const Address address{.purpose = Purpose::validation_split, .client = kHeldOutRows};
    for (std::size_t row = 0; row < draws.size(); ++row) draws[row] = row == 0 ? 1 : draw_of(0, address, row);
    return draws;
  }
  std::vector<std::uint32_t> addresses;
  for (const std::string& name : data.client_names)
    addresses.push_back(static_cast<std::uint32_t>(std::stoul(Hash().text(name).hex().substr(0, 8), nullptr, 16)));
  std::vector<std::size_t> seen(data.client_names.size(), 0);
  for (std::size_t row = 0; row < draws.size(); ++row) {
    const std::uint32_t client = data.clients[row];
    const std::size_t number = seen[client]++;
    const Address address{.purpose = Purpose::validation_split, .client = addresses[client], .step = kHeldOutOfClient};
    draws[row] = number == 0 ? 1 : draw_of(0, address, number);
  }
  return draws;
}

}  // namespace

std::pair<std::vector<Row>, std::vector<Row>> split_validation(std::size_t size, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1))
    throw usage_error("validation-fraction is " + number_text(fraction) + "; it must be a number from 0 to below 1");
  std::pair<std::vector<Row>, std::vector<Row>> split;
  const Address address{.purpose = Purpose::validation_split};
  for (std::size_t row = 0; row < size; ++row)
    (fraction > 0 && draw_of(seed, address, row) < fraction ? split.second : split.first).push_back(static_cast<Row>(row));
  if (split.first.empty())
    throw usage_error("validation-fraction is " + number_text(fraction) + ", which leaves none of the " + counted(size, "row") +
                      " for training; choose a smaller one");
  return split;
}

std::vector<Row> draw_evaluation_rows(std::size_t size, std::size_t count, std::uint64_t seed) {
  if (count > size)
    throw usage_error("evaluate-rows is " + std::to_string(count) + "; the test set has " + counted(size, "row") +
                      "; use at most that many, or 0 for all");
  std::vector<std::pair<double, Row>> draws;
  draws.reserve(size);
  for (std::size_t row = 0; row < size; ++row)
    draws.emplace_back(draw_of(seed, {.purpose = Purpose::evaluation_rows}, row), static_cast<Row>(row));
  std::ranges::nth_element(draws, draws.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Row> rows;
  rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i) rows.push_back(draws[i].second);
  std::ranges::sort(rows);
  return rows;
}

std::pair<Dataset, Dataset> split_test_part(Dataset data) {
  if (data.size() < 2) throw failure("a data set in one file needs at least two rows: one for training and one for testing");
  constexpr double kShare = 1.0 / 6;
  const std::vector<double> draws = draws_of_rows(data);
  std::vector<Row> train_rows;
  std::vector<Row> test_rows;
  for (std::size_t row = 0; row < draws.size(); ++row)
    (draws[row] < kShare ? test_rows : train_rows).push_back(static_cast<Row>(row));
  if (test_rows.empty()) {
    // Takes the row with the smallest draw, so another row can affect this choice only by taking its place.
    auto least = std::ranges::min_element(draws);
    if (*least == 1) least = std::prev(draws.end());
    test_rows.push_back(static_cast<Row>(least - draws.begin()));
    std::erase(train_rows, test_rows.front());
  }
  Dataset test = with_rows(data, test_rows);
  keep_only(data, train_rows);
  return {std::move(data), std::move(test)};
}

void drop_all_but(Dataset& data, std::span<const Row> rows) {
  keep_only(data, rows);
  data.file_rows.clear();
}

void keep_rows(Dataset& data, std::span<const Row> rows) {
  std::vector<Row> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted);
  data.places.assign(data.size(), Row{0});
  for (std::size_t i = 0; i < sorted.size(); ++i) data.places[sorted[i]] = static_cast<Row>(i);
  for_each_list(data, [&](auto& values, std::size_t width, auto) { values = taken(values, width, sorted); });
}

}  // namespace fedstride

#include "data/missing.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "data/split.hpp"

namespace fedstride {
namespace {

bool is_nan(float number) { return std::isnan(number); }

std::size_t count_missing(const Dataset& data) {
  const Borrowable<float>& features = data.features;
  return static_cast<std::size_t>(std::ranges::count_if(features, is_nan));
}

/// Drops rows with a missing value and returns their number.
std::size_t drop_incomplete_rows(Dataset& data) {
  const std::span<const float> features(std::as_const(data.features).data(), data.features.size());
  const std::size_t size = data.shape.size();
  std::vector<Row> complete;
  for (Row row = 0; row < data.size(); ++row)
    if (std::ranges::none_of(features.subspan(row * size, size), is_nan)) complete.push_back(row);
  const std::size_t dropped = data.size() - complete.size();
  if (dropped > 0) drop_all_but(data, complete);
  return dropped;
}

void add_indicators(Dataset& data) {
  const auto columns = static_cast<std::size_t>(data.shape.channels);
  const std::size_t numbers = columns - static_cast<std::size_t>(data.binary_columns);
  const Borrowable<float>& given = data.features;
  std::vector<float> features;
  features.reserve(data.size() * (columns + numbers));
  for (std::size_t row = 0; row < data.size(); ++row) {
    const std::span<const float> one(given.data() + row * columns, columns);
    features.insert(features.end(), one.begin(), one.end());
    for (std::size_t k = 0; k < numbers; ++k) features.push_back(is_nan(one[k]) ? 1 : 0);
  }
  data.features = std::move(features);
  data.shape.channels += static_cast<int>(numbers);
  data.binary_columns += static_cast<int>(numbers);
}

/// The mean of each column over the rows that have a value; 0 if no row has one.
std::vector<float> known_means(const Dataset& data) {
  const auto columns = static_cast<std::size_t>(data.shape.channels);
  std::vector<double> sums(columns, 0);
  std::vector<std::size_t> known(columns, 0);
  const Borrowable<float>& features = data.features;
  for (std::size_t row = 0; row < features.size() / columns; ++row)
    for (std::size_t c = 0; c < columns; ++c) {
      const float value = features[row * columns + c];
      if (is_nan(value)) continue;
      sums[c] += value;
      ++known[c];
    }
  std::vector<float> means;
  for (std::size_t c = 0; c < columns; ++c)
    means.push_back(known[c] > 0 ? static_cast<float>(sums[c] / static_cast<double>(known[c])) : 0);
  return means;
}

}  // namespace

void settle_missing(DataPair& pair, const ReadSettings& settings) {
  const Missing rule = settings.missing_rule();
  pair.missing = rule;
  Dataset& train = pair.train;
  if (rule == Missing::error || train.is_pictures() || train.vocabulary > 0) return;
  const Shape shape = train.shape;
  if (rule == Missing::indicator && shape.height * shape.width > 1)
    throw usage_error("missing is 'indicator'; the examples are " + shape.text() +
                      ", but indicators can be added only to rows of numbers; valid: drop, mean, zero");
  const std::size_t missing = count_missing(train) + count_missing(pair.test);
  std::size_t dropped = 0;
  for (Dataset* part : {&train, &pair.test}) {
    if (part->size() == 0 && rule != Missing::indicator) continue;
    if (rule == Missing::drop) dropped += drop_incomplete_rows(*part);
    if (rule == Missing::zero && count_missing(*part) > 0) std::ranges::replace_if(part->features.edit(), is_nan, 0.0F);
    if (rule == Missing::indicator) add_indicators(*part);
  }
  if (train.size() == 0)
    throw failure("missing is 'drop', and every training row has a missing value; valid: mean, zero, indicator");
  if (settings.rows_are_protected) {  // a note must not reveal how many values are missing
    if (settings.missing == Missing::automatic)
      pair.notes.push_back(
          auto_note("missing",
                    "under dp a missing number, or a field that is none, becomes the mean by which its column is "
                    "normalized; 'fedstride data check' shows such fields to the rows' owner",
                    "--missing zero or indicator"));
    return;
  }
  if (rule == Missing::drop && dropped > 0)
    pair.notes.push_back(counted(dropped, "row") + " with missing values " + (dropped == 1 ? "is" : "are") + " left out");
  else if (missing > 0)
    pair.notes.push_back(counted(missing, "missing value") + (missing == 1 ? " becomes " : " become ") +
                         (rule == Missing::zero ? "0" : "the column mean") +
                         (rule == Missing::indicator ? ", and an additional 0/1 column for each column shows where" : ""));
}

void fill_gaps(Dataset& data, const std::vector<float>& fill) {
  if (count_missing(data) == 0) return;
  const auto columns = static_cast<std::size_t>(data.shape.channels);
  std::vector<float>& own = data.features.edit();
  for (std::size_t i = 0; i < own.size(); ++i)
    if (is_nan(own[i])) own[i] = fill.at(i % columns);
}

void fill_in_means(DataPair& pair, const ReadSettings& settings) {
  const Missing rule = settings.missing_rule();
  if (settings.rows_are_protected || (rule != Missing::mean && rule != Missing::indicator)) return;
  pair.fill = settings.keeps_constants ? (settings.schema->fill.empty() ? settings.schema->mean : settings.schema->fill)
                                       : known_means(pair.train);
  for (Dataset* part : {&pair.train, &pair.test}) fill_gaps(*part, pair.fill);
}

}  // namespace fedstride

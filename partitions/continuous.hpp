#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/text.hpp"
#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

struct ContinuousSettings {
  std::string property = "mean";
  double strictness = 0.5;

  static constexpr auto kFields =
      fields(Field{"property", &ContinuousSettings::property,
                   "property to sort by: \"mean\" of an example's values (image brightness), or a column number, counted from 0"},
             Field{"strictness", &ContinuousSettings::strictness, "weight of the property in the sort key; the rest is noise",
                   kFraction});
};

/// Clients differ in a continuous property of their examples (Flower Datasets' continuous partitioner). A row with property v has
/// the score strictness z + (1 - strictness) e, where z = (v - mean) / (standard deviation) over the rows to be dealt and e is
/// standard Gaussian noise. The rows are sorted by score and cut into pieces whose sizes differ by at most one. Strictness 0
/// gives a random split; at 1, the rows are fully sorted, and the first client has the smallest values. Ties keep the data set's
/// order.
struct Continuous final : PartBase<PartitionPart, Continuous, ContinuousSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "continuous";
  static constexpr std::string_view kSummary = "rows sorted by a property such as brightness, more or less strictly";

  Dealing dealing() const override { return Dealing::features; }
  /// The property that input.property must provide for every row.
  std::string_view needs_property() const override { return property; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    check();
    if (input.property.size() != input.labels.size())
      throw usage_error("partition is 'continuous', which needs a value of the property for every row; there are " +
                        std::to_string(input.property.size()) + " values; the number of rows is " +
                        std::to_string(input.labels.size()));
    const auto count = static_cast<double>(input.rows.size());
    double mean = 0;
    for (const std::uint32_t row : input.rows) {
      const float value = input.property[row];
      if (!std::isfinite(value))
        throw usage_error("property is " + number_text(value) + " in row " + std::to_string(row) +
                          "; it must be a finite number");
      mean += value / count;
    }
    double variance = 0;
    for (const std::uint32_t row : input.rows) variance += (input.property[row] - mean) * (input.property[row] - mean) / count;
    const double scale = variance > 0 ? 1 / std::sqrt(variance) : 0;

    RandomStream random = partition_stream(input.seed, PartitionDraw::property);
    std::vector<std::uint32_t> rows(input.rows.begin(), input.rows.end());
    std::sort(rows.begin(), rows.end());
    std::vector<double> scores(input.labels.size());
    for (const std::uint32_t row : rows)
      scores[row] = strictness * ((input.property[row] - mean) * scale) + (1 - strictness) * random.normal();
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) { return scores[a] < scores[b]; });
    return ClientRows::even(std::move(rows), static_cast<std::size_t>(input.clients));
  }
};

}  // namespace fedstride

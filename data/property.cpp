#include "data/property.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

float mean_of(const auto* values, std::size_t count) {
  return static_cast<float>(std::accumulate(values, values + count, 0.0) / static_cast<double>(count));
}

}  // namespace

std::optional<double> chance_accuracy(const Dataset& data) {
  const bool by_position = data.targets == Targets::positions;
  if (!by_position && data.targets != Targets::classes) return {};
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(data.classes));
  std::uint64_t all = 0;
  for (const Label label : by_position ? data.position_labels : data.labels)
    if (label < counts.size()) ++counts[label], ++all;
  if (all == 0) return {};
  return static_cast<double>(std::ranges::max(counts)) / static_cast<double>(all);
}

std::vector<float> property_of_rows(const Dataset& data, std::string_view property) {
  const std::size_t values = data.shape.size();
  std::size_t column = 0;
  const bool is_mean = property == "mean";
  if (!data.is_pictures() && data.features.empty())
    throw usage_error("property is '" + std::string(property) + "'; data set '" + data.name + "' has neither images nor numbers");
  if (!is_mean && (data.is_pictures() || !parse_number(property, column) || column >= values))
    throw usage_error(
        "property is '" + std::string(property) + "'; for data set '" + data.name + "' use mean" +
        (data.is_pictures() ? ", the image brightness" : ", or a column number from 0 to " + std::to_string(values - 1)));
  std::vector<float> found(data.size());
  for (Row row = 0; row < found.size(); ++row) {
    const std::size_t at = data.place(row) * values;
    if (!is_mean)
      found[row] = data.features[at + column];
    else
      found[row] = data.is_pictures() ? mean_of(&data.pixels[at], values) : mean_of(&data.features[at], values);
  }
  return found;
}

}  // namespace fedstride

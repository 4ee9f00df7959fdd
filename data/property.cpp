#include "data/property.hpp"

#include <numeric>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

template <class Value>
float mean_of(const Value* values, std::size_t count) {
  return static_cast<float>(std::accumulate(values, values + count, 0.0) / static_cast<double>(count));
}

}  // namespace

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

#include "partitions/continuous.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitions/dealing.hpp"

namespace fedstride {

ClientRows Continuous::assign(const PartitionInput& input) const {
  check_input(input);
  check_settings(*this);
  if (input.property.size() != input.labels.size())
    throw usage_error("partition is 'continuous', which needs a property of every row; here are " +
                      std::to_string(input.property.size()) + " of " + std::to_string(input.labels.size()));
  const auto count = static_cast<double>(input.rows.size());
  double mean = 0;
  for (const std::uint32_t row : input.rows) {
    const float value = input.property[row];
    if (!std::isfinite(value))
      throw usage_error("property is " + std::to_string(value) + " in row " + std::to_string(row) +
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

}  // namespace fedstride

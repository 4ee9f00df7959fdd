#include "nn/variation.hpp"

namespace fedstride {

Variation::Variation(const Dataset& data, std::span<const Row> rows) : data_(&data) {
  if (data.targets != Targets::values || rows.empty()) return;
  const std::size_t count = data.form().answers();
  means_.resize(count);
  for (const Row row : rows)
    for (std::size_t k = 0; k < count; ++k) means_[k] += static_cast<double>(data.values[data.place(row) * count + k]);
  for (double& mean : means_) mean /= static_cast<double>(rows.size());
}

double Variation::of(std::span<const Row> rows) const {
  const std::size_t count = means_.size();
  double sum = 0;
  for (const Row row : rows)
    for (std::size_t k = 0; k < count; ++k) {
      const double difference = static_cast<double>(data_->values[data_->place(row) * count + k]) - means_[k];
      sum += difference * difference;
    }
  return sum / static_cast<double>(count);
}

}  // namespace fedstride

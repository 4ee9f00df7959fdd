#pragma once

#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

/// The squared error of always answering the mean of some examples' values: what R^2 compares a model with. Answers
/// other than values have none.
class Variation {
 public:
  Variation() = default;
  /// With the means of these rows. The data must outlive it.
  Variation(const Dataset& data, std::span<const Row> rows);

  bool exists() const { return !means_.empty(); }
  /// The sum over the rows; of a row the mean over its values, as its loss is.
  double of(std::span<const Row> rows) const;

 private:
  const Dataset* data_ = nullptr;
  std::vector<double> means_;
};

/// 1 - loss / variation; 0 where nothing varies.
constexpr double r_squared(double loss, double variation) { return variation > 0 ? 1 - loss / variation : 0; }

}  // namespace fedstride

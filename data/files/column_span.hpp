#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace fedstride {

/// The span of a column's numbers, and the offset to subtract if single precision could not tell the numbers apart.
class ColumnSpan {
 public:
  /// Adds a number; ignores numbers that are not finite.
  void add(double number) {
    if (!std::isfinite(number)) return;
    low_ = std::min(low_, number);
    high_ = std::max(high_, number);
    loses_ = loses_ || static_cast<double>(static_cast<float>(number)) != number;
  }
  void add(const ColumnSpan& other) {
    low_ = std::min(low_, other.low_);
    high_ = std::max(high_, other.high_);
    loses_ = loses_ || other.loses_;
  }
  /// Returns the middle of the span (rounded to a whole number if the span is 1 or more) if single precision rounds some number
  /// and has fewer than 4096 steps in the span; otherwise nothing.
  std::optional<double> offset() const {
    constexpr double kFewestSteps = 4096, kStepsToNumber = 16777216;
    if (!loses_ || (high_ - low_) * (kStepsToNumber / kFewestSteps) >= std::max(std::abs(low_), std::abs(high_)))
      return std::nullopt;
    const double middle = low_ + (high_ - low_) / 2;
    return high_ - low_ < 1 ? middle : std::round(middle);
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  bool loses_ = false;
};

}  // namespace fedstride

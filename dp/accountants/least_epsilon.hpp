#pragma once

namespace fedstride {

/// The smallest epsilon for which `holds` is true, rounded up by a relative error of at most `width`. It must be false at `low`
/// and true from `high` upward.
double least_epsilon(double low, double high, double width, auto&& holds) {
  while (high - low > width * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace fedstride

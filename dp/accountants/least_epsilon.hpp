#pragma once

namespace fedstride {

/// The smallest epsilon for which a bound `holds`, rounded up by at most a relative `width`. It fails at `low` and holds from
/// `high` on.
double least_epsilon(double low, double high, double width, auto&& holds) {
  while (high - low > width * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace fedstride

#include "sim/time/mode.hpp"

#include <cmath>

#include "core/elementary.hpp"

namespace fedstride {

double AsynchronousSettings::weight_at(std::uint32_t staleness) const {
  const double late = static_cast<double>(staleness) - hinge_from;
  switch (staleness_weight) {
    case StalenessWeight::constant:
      break;
    case StalenessWeight::polynomial:
      return staleness_power == 0.5 ? 1 / std::sqrt(1.0 + staleness) : portable::pow(1.0 + staleness, -staleness_power);
    case StalenessWeight::hinge:
      return late <= 0 ? 1 : 1 / (hinge_slope * late + 1);
  }
  return 1;
}

PartFamily& ModePart::family() {
  static PartFamily family = [] {
    PartFamily all("mode", "when the server makes a version, and of which updates", Question::federation);
    add_parts<ModePart, Synchronous, Tiered, FedAsync, FedBuff, FedAt>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

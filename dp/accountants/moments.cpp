#include "dp/accountants/moments.hpp"

#include "dp/accountants/refusals.hpp"

namespace fedstride {
namespace {

Rdp as_rdp() {
  Rdp rdp;
  rdp.orders = OrderGrid::ma32;
  rdp.conversion = Conversion::classical;
  return rdp;
}

}  // namespace

std::string Moments::unsound(std::span<const Releases> spending) const { return uncovered(spending, {}); }

PrivacyBound Moments::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  return as_rdp().epsilon(spending, delta);
}

PrivacyBound Moments::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  return as_rdp().delta(spending, epsilon);
}

}  // namespace fedstride

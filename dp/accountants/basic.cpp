#include "dp/accountants/basic.hpp"

#include "dp/accountants/composition.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/refusals.hpp"

namespace fedstride {
namespace {

double basic_epsilon(const Spending& kinds, double delta) {
  double count = 0;
  for (const Releases& releases : kinds) count += static_cast<double>(releases.count);
  return kinds.empty() ? 0 : basic_composition(approximate_steps(kinds, delta / count));
}

}  // namespace

std::string Basic::unsound(std::span<const Releases> spending) const {
  return uncovered(spending, {.poisson_replace_one = true, .without_replacement = true});
}

PrivacyBound Basic::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  return {basic_epsilon(merged(spending), delta)};
}

PrivacyBound Basic::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
  const Spending kinds = merged(spending);
  if (kinds.empty()) return {};
  return {smallest_delta([&](double delta) { return basic_epsilon(kinds, delta); }, epsilon)};
}

}  // namespace fedstride

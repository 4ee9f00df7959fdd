#include "dp/accountants/basic.hpp"

#include "dp/accountants/composition.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/refusals.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxBasicKinds = 20'000;

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
  const Spending kinds = merged(spending);
  return {basic_epsilon(coarser(kinds, kMaxBasicKinds), delta), coarse_warning(kinds.size(), kMaxBasicKinds)};
}

PrivacyBound Basic::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
  const Spending all = merged(spending);
  if (all.empty()) return {};
  const Spending kinds = coarser(all, kMaxBasicKinds);
  return {smallest_delta([&](double delta) { return basic_epsilon(kinds, delta); }, epsilon),
          coarse_warning(all.size(), kMaxBasicKinds)};
}

}  // namespace fedstride

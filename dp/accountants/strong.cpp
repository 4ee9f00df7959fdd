#include "dp/accountants/strong.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>

#include "dp/accountants/composition.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/refusals.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxStrongKinds = 1000;
// Beyond, the optimal composition's binomials take too long; the others are within a per cent of it there.
constexpr std::uint64_t kMaxOptimalCount = 100'000;

double total_count(const Spending& spending) {
  double count = 0;
  for (const Releases& releases : spending) count += static_cast<double>(releases.count);
  return count;
}

double strong_epsilon(const Spending& kinds, double delta) {
  if (kinds.empty()) return 0;
  const double count = total_count(kinds);
  const auto with_share = [&](double logit) {  // of delta for the steps; the rest for the composition
    const double share = 1 / (1 + std::exp(-logit));
    const auto steps = approximate_steps(kinds, share * delta / count);
    const double slack = (1 - share) * delta;
    double least = std::min(basic_composition(steps), heterogeneous_composition(steps, slack));
    if (steps.size() == 1 && steps[0].count <= kMaxOptimalCount)
      least = std::min(least, optimal_composition(steps[0].epsilon, steps[0].count, slack));
    return least;
  };
  std::uintmax_t rounds = 100;
  const double found = boost::math::tools::brent_find_minima(with_share, -8.0, 8.0, 16, rounds).second;
  return std::min(found, basic_composition(approximate_steps(kinds, delta / count)));
}

}  // namespace

std::string Strong::unsound(std::span<const Releases> spending) const {
  return uncovered(spending, {.poisson_replace_one = true, .without_replacement = true});
}

PrivacyBound Strong::epsilon(std::span<const Releases> spending, double delta) const {
  check_sound(kName, spending, unsound(spending));
  check_delta(delta);
  const Spending kinds = merged(spending);
  return {strong_epsilon(coarser(kinds, kMaxStrongKinds), delta), coarse_warning(kinds.size(), kMaxStrongKinds)};
}

PrivacyBound Strong::delta(std::span<const Releases> spending, double epsilon) const {
  check_sound(kName, spending, unsound(spending));
  check_epsilon(epsilon);
  const Spending all = merged(spending);
  if (all.empty()) return {};
  const Spending kinds = coarser(all, kMaxStrongKinds);
  return {smallest_delta([&](double delta) { return strong_epsilon(kinds, delta); }, epsilon),
          coarse_warning(all.size(), kMaxStrongKinds)};
}

}  // namespace fedstride

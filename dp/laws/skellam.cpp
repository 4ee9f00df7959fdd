#include "dp/laws/skellam.hpp"

#include <utility>

#include "dp/noise/skellam.hpp"

namespace fedstride {
namespace {

double rdp_at_whole(const DistributedNoise& noise, double order) {
  if (order <= 1) return 0;
  const double deviation = noise.local_deviation / noise.step;
  const double variance = static_cast<double>(noise.shares) * deviation * deviation;
  const double l2 = distance_l2(noise);
  const double l1 = distance_l1(noise);
  return order * l2 * l2 / (2 * variance) +
         std::min(((2 * order - 1) * l2 * l2 + 6 * l1) / (4 * variance * variance), 3 * l1 / (2 * variance));
}

}  // namespace

double SkellamLaw::rdp(const DistributedNoise& noise, double order) const {
  const double below = std::floor(order);
  if (below == order) return rdp_at_whole(noise, order);
  const auto scaled = [&](double whole) { return (whole - 1) * rdp_at_whole(noise, whole); };
  return ((below + 1 - order) * scaled(below) + (order - below) * scaled(below + 1)) / (order - 1);
}

IntegerNoise SkellamLaw::share(double deviation) const {
  Skellam skellam(deviation * deviation);
  const double variance = skellam.variance();
  return {variance, std::move(skellam)};
}

double SkellamLaw::most_steps() const { return std::sqrt(Skellam::kMaxVariance) * (1 - 0x1p-52); }

}  // namespace fedstride

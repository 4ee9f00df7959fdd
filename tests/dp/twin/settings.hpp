#pragma once

#include <cmath>
#include <cstdint>

#include "core/random.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride::test {

/// One of the random settings of tests/golden/privacy_twin.csv.
struct TwinSetting {
  Releases releases;
  double delta;
};

inline TwinSetting twin_setting(std::uint32_t number) {
  RandomStream random(20240607, {.purpose = Purpose::test, .row = number});
  const auto between = [&](double low, double high) { return low * std::pow(high / low, random.uniform()); };
  TwinSetting setting;
  setting.releases.neighbours = random.below(2) == 0 ? Neighbours::add_remove : Neighbours::replace_one;
  const std::uint64_t kind = random.below(20);  // one in twenty is exactly 1, one in twenty takes every record
  setting.releases.rate = between(1e-4, 1);
  if (kind < 2) setting.releases.rate = 1;
  if (kind == 1) setting.releases.sampling = Sampling::full;
  setting.releases.noise_multiplier = between(0.4, 30);
  setting.releases.count = static_cast<std::uint64_t>(between(1, 1e5));
  setting.delta = between(1e-9, 1e-3);
  return setting;
}

}  // namespace fedstride::test

#pragma once

#include <cmath>

#include "dp/accountants/mechanism.hpp"

namespace fedstride::test {

/// delta(epsilon) of one Poisson-sampled release in closed form: P - e^epsilon Q beyond the one point where it is 0,
/// the likelihood ratio being monotone. `forward`: remove or replace-one; otherwise add.
inline long double one_release(Neighbours neighbours, bool forward, double rate, double noise_multiplier, long double epsilon) {
  const long double q = rate;
  const long double sigma = noise_multiplier;
  const auto above = [&](long double x) { return std::erfc(x / (sigma * std::sqrt(2.0L))) / 2; };
  const long double factor = std::exp(epsilon);
  if (neighbours == Neighbours::replace_one) {
    const auto log_ratio = [&](long double x) { return std::log1p(q * std::expm1((2 * x - 1) / (2 * sigma * sigma))); };
    long double low = 0;
    long double high = 60 * sigma + 1;
    for (int i = 0; i < 200; ++i) {
      const long double x = (low + high) / 2;
      (log_ratio(x) - log_ratio(-x) > epsilon ? high : low) = x;
    }
    return -(1 - q) * std::expm1(epsilon) * above(low) + q * (above(low - 1) - factor * above(low + 1));
  }
  if (forward) {
    const long double x = 0.5L + sigma * sigma * std::log((std::expm1(epsilon) + q) / q);
    return -(std::expm1(epsilon) + q) * above(x) + q * above(x - 1);
  }
  const long double drawn = (std::expm1(-epsilon) + q) / q;
  if (drawn <= 0) return 0;
  const long double x = 0.5L + sigma * sigma * std::log(drawn);
  return above(-x) - factor * ((1 - q) * above(-x) + q * above(1 - x));
}

}  // namespace fedstride::test

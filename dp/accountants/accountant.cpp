#include "dp/accountants/accountant.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

void check_spending(std::span<const Releases> spending) {
  // Squares of these, times any count, are doubles.
  constexpr double kMinNoise = 1e-100;
  constexpr double kMaxNoise = 1e100;
  constexpr double kMinRate = 1e-100;
  constexpr double kMaxCount = 9.2e18;  // counts are added in 64 bits
  double count = 0;
  for (const Releases& releases : spending) {
    const double noise = releases.noise_multiplier;
    if (!std::isfinite(noise) || noise <= 0)
      throw usage_error("noise multiplier is " + number_text(noise) + "; it must be a number above 0");
    if (noise < kMinNoise || noise > kMaxNoise)
      throw usage_error("noise multiplier is " + number_text(noise) + "; it must be a number from 1e-100 to 1e100");
    if (!(releases.rate > 0 && releases.rate <= 1))
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; it must be a number above 0 and up to 1");
    if (releases.rate < kMinRate)
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; it must be a number from 1e-100 to 1");
    count += static_cast<double>(releases.count);
  }
  if (count > kMaxCount) throw usage_error("there are " + number_text(count) + " releases; 9.2e18 are the most");
}

void check_delta(double delta) {
  if (!(delta > 0 && delta < 1))
    throw usage_error("delta is " + number_text(delta) + "; it must be a number above 0 and below 1");
}

void check_epsilon(double epsilon) {
  if (!std::isfinite(epsilon) || epsilon < 0)
    throw usage_error("epsilon is " + number_text(epsilon) + "; it must be a number from 0");
}

}  // namespace fedstride

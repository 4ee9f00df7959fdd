#include "dp/accountants/accountant.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

void check_spending(std::span<const Releases> spending) {
  for (const Releases& releases : spending) {
    if (!std::isfinite(releases.noise_multiplier) || releases.noise_multiplier <= 0)
      throw usage_error("noise multiplier is " + number_text(releases.noise_multiplier) + "; it must be a number above 0");
    if (!(releases.rate > 0 && releases.rate <= 1))
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; it must be a number above 0 and up to 1");
  }
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

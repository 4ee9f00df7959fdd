#include "dp/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

PartFamily& BoundPart::family() {
  static PartFamily family = Bounds::family(Question::privacy);
  return family;
}

ClipRule stated_rule(const Bound& bound) {
  return bound->counts() ? make_choice<ClipRule>("clip-rule", bound.name()) : ClipRule{};
}

double noise_beside_count(double noise_multiplier, double deviation) {
  if (!(noise_multiplier > 0) || !std::isfinite(noise_multiplier))
    throw usage_error("noise multiplier is " + number_text(noise_multiplier) + "; it must be positive and finite");
  if (!(noise_multiplier < 2 * deviation))
    throw usage_error("the noise on the count has standard deviation " + number_text(deviation) +
                      "; it must be above half the noise multiplier, " + number_text(noise_multiplier / 2) +
                      ", or no noise on the sum would be enough");
  const double left = 1 - noise_multiplier / (2 * deviation) * (noise_multiplier / (2 * deviation));
  constexpr double kRounding = 1e-14;
  return noise_multiplier / std::sqrt(left) * (1 + kRounding / left);
}

void BoundCourse::take(std::optional<double> mean_bit, double most) {
  used_ = bound_;
  if (mean_bit) bound_ = std::min(std::clamp(rule_->next(bound_, *mean_bit), kLeastClip, kMostClip), most);
}

void BoundCourse::resume(double bound) {
  if (!(bound > 0) || !std::isfinite(bound))
    throw failure("the bound in the checkpoint is " + number_text(bound) + "; it must be positive and finite");
  bound_ = bound;
}

}  // namespace fedstride

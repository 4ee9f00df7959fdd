#include <string>

#include "core/error.hpp"
#include "data/skew/colour.hpp"
#include "data/skew/feature_skew.hpp"
#include "data/skew/no_skew.hpp"
#include "data/skew/noise.hpp"
#include "data/skew/rotation.hpp"

namespace fedstride {

PartFamily& FeatureSkewPart::family() {
  static PartFamily family = [] {
    PartFamily all("feature-skew", "how the inputs of clients differ");
    add_parts<FeatureSkewPart, NoSkew, NoiseSkew, RotationSkew, ColourSkew>(all);
    return all;
  }();
  return family;
}

void require_pictures(std::string_view skew, const Dataset& data) {
  if (!data.is_pictures())
    throw usage_error("feature-skew is '" + std::string(skew) + "', which changes pictures; data set '" + data.name +
                      "' has none: valid are none and noise");
}

}  // namespace fedstride

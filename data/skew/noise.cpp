#include "data/skew/noise.hpp"

#include <string>

#include "core/error.hpp"

namespace fedstride {

void NoiseSkew::check_data(const Dataset& data) {
  if (data.pixels.empty() && data.features.empty())
    throw usage_error("feature-skew is 'noise', which is added to numbers; data set '" + data.name +
                      "' has none: only none is valid");
}

}  // namespace fedstride

#include "data/skew/noise.hpp"

#include <string>

#include "core/error.hpp"

namespace fedstride {

void NoiseSkew::check_data(const Dataset& data) {
  if (data.pixels.empty() && data.features.empty())
    throw usage_error("feature-skew is 'noise', which is added to numbers; data set '" + data.name +
                      "' has none: only none is valid");
}

double NoiseSkew::noise(std::uint32_t client, std::uint32_t clients) const {
  const double number = client;
  const double count = clients;
  double amount = noise_level * (number + 1) / count;
  if (scale == NoiseScale::from_zero) amount = clients > 1 ? noise_level * number / (count - 1) : 0;
  return unit == NoiseUnit::deviation ? amount * amount : amount;
}

}  // namespace fedstride

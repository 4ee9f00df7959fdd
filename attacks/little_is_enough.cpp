#include "attacks/little_is_enough.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace fedstride {

double little_is_enough_z(std::size_t n, std::size_t f) {
  const std::size_t majority = n / 2 + 1;
  const auto supporters = static_cast<double>(majority) - static_cast<double>(f);
  const auto honest = static_cast<double>(n - f);
  const double below = (honest - supporters) / honest;
  if (!(below > 0.5) || below >= 1) return 0;
  return std::numbers::sqrt2 * boost::math::erf_inv(2 * below - 1);
}

void LittleIsEnough::conspire(const AttackRound& /*round*/, std::span<const std::span<const float>> honest, std::size_t attacking,
                              std::span<float> out) const {
  const double far = z > 0 ? z : little_is_enough_z(honest.size() + attacking, attacking);
  const auto count = static_cast<double>(honest.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const std::span<const float> update : honest) sum += static_cast<double>(update[i]);
    const double mean = sum / count;
    double squares = 0;
    for (const std::span<const float> update : honest)
      squares += (static_cast<double>(update[i]) - mean) * (static_cast<double>(update[i]) - mean);
    out[i] = static_cast<float>(mean - far * std::sqrt(squares / count));
  }
}

}  // namespace fedstride

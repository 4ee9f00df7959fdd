#include "attacks/inner_product.hpp"

namespace fedstride {

void InnerProduct::conspire(const AttackRound& /*round*/, std::span<const std::span<const float>> honest,
                            std::size_t /*attackers*/, std::span<float> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const std::span<const float> update : honest) sum += static_cast<double>(update[i]);
    out[i] = static_cast<float>(-epsilon * sum / static_cast<double>(honest.size()));
  }
}

}  // namespace fedstride

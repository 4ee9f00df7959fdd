#include "attacks/gaussian.hpp"

namespace fedstride {

void GaussianAttack::falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const {
  RandomStream random(round.seed, {.purpose = Purpose::attack_noise, .round = round.round, .client = client});
  for (float& value : change) value = static_cast<float>(deviation * random.normal());
}

}  // namespace fedstride

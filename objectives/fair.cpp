#include "objectives/fair.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {

ObjectiveScale Fair::scale(const ObjectiveEnd& round) const {
  constexpr double kLeastLoss = 1e-10;  // F^(q-1) is infinite at 0
  const double loss = std::max(round.start_loss, kLeastLoss);
  const double power = std::pow(loss, q);
  double square = 0;
  for (const float value : round.change) square += static_cast<double>(value) * static_cast<double>(value);
  const double lipschitz = round.rate > 0 ? 1 / round.rate : 0;
  return {power, q * power / loss * lipschitz * square + power};
}

void Fair::next(State&, const ObjectiveRound& round, std::span<float> change, std::span<const float>) {
  const auto inverse = static_cast<float>(round.measure > 0 ? 1 / round.measure : 0);
  for (float& value : change) value *= inverse;
}

}  // namespace fedstride

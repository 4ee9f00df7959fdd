#include "server/federated_extrapolation.hpp"

#include <algorithm>
#include <cmath>

#include "core/eigen.hpp"

namespace fedstride {

void FederatedExtrapolation::apply(State& state, Vector& model, const Vector& mean_change) const {
  double square = 0;
  for (const float value : mean_change) square += static_cast<double>(value) * static_cast<double>(value);
  const double rate = std::max(1.0, state.mean_square / (2 * (square + epsilon)));
  if (std::isfinite(rate)) eigen(model) += static_cast<float>(rate) * eigen(mean_change);
}

}  // namespace fedstride

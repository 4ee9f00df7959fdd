#include "server/federated_extrapolation.hpp"

#include <algorithm>
#include <cmath>

#include "core/eigen.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

void FederatedExtrapolation::apply(State& state, Vector& model, const Vector& mean_change) const {
  state.before = model;
  state.has_before = true;
  const double norm = l2_norm(view(mean_change));
  const double rate = std::max(1.0, state.mean_square / (2 * (norm * norm + epsilon)));
  if (std::isfinite(rate)) eigen(model) += static_cast<float>(rate) * eigen(mean_change);
}

Vector FederatedExtrapolation::answer(const State& state, const Vector& model) const {
  Vector answer = model;
  if (result == ExtrapolationAnswer::mean_of_two && state.has_before) eigen(answer) = 0.5F * (eigen(model) + eigen(state.before));
  return answer;
}

}  // namespace fedstride

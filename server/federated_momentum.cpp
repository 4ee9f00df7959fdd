#include "server/federated_momentum.hpp"

#include "core/eigen.hpp"

namespace fedstride {

void FederatedMomentum::apply(State& state, Vector& model, const Vector& mean_change) const {
  eigen(state.velocity) = static_cast<float>(server_momentum) * eigen(state.velocity) + eigen(mean_change);
  const auto rate = static_cast<float>(server_learning_rate);
  if (nesterov)
    eigen(model) += rate * (eigen(mean_change) + static_cast<float>(server_momentum) * eigen(state.velocity));
  else
    eigen(model) += rate * eigen(state.velocity);
}

}  // namespace fedstride

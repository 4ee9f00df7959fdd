#include "server/federated_momentum.hpp"

#include "core/eigen.hpp"

namespace fedstride {

void FederatedMomentum::apply(State& state, Vector& model, const Vector& mean_change) const {
  eigen(state.velocity) = static_cast<float>(server_momentum) * eigen(state.velocity) + eigen(mean_change);
  eigen(model) += static_cast<float>(server_learning_rate) * eigen(state.velocity);
}

}  // namespace fedstride

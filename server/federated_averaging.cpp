#include "server/federated_averaging.hpp"

#include "core/eigen.hpp"

namespace fedstride {

void FederatedAveraging::apply(State&, Vector& model, const Vector& mean_change) const {
  eigen(model) += static_cast<float>(server_learning_rate) * eigen(mean_change);
}

}  // namespace fedstride

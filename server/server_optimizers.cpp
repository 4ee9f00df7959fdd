#include "server/federated_adaptive.hpp"
#include "server/federated_averaging.hpp"
#include "server/federated_extrapolation.hpp"
#include "server/federated_momentum.hpp"
#include "server/server_optimizer_of.hpp"

namespace fedstride {

PartFamily& ServerOptimizerPart::family() {
  static PartFamily family = [] {
    PartFamily all("server-optimizer", "the step that applies the mean change");
    add_parts<ServerOptimizerPart, FederatedAveraging, FederatedMomentum, FederatedAdagrad, FederatedAdam, FederatedYogi,
              FederatedExtrapolation>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

#include "server/federated_adaptive.hpp"
#include "server/federated_averaging.hpp"
#include "server/federated_extrapolation.hpp"
#include "server/federated_momentum.hpp"
#include "server/length_restoring.hpp"
#include "server/majority_vote.hpp"

namespace fedstride {

PartFamily& ServerOptimizerPart::family() {
  static PartFamily family = [] {
    PartFamily all("server-optimizer", "how the server applies the mean change", Question::federation, Shown::often);
    add_parts<ServerOptimizerPart, FederatedAveraging, FederatedMomentum, FederatedAdagrad, FederatedAdam, FederatedYogi,
              FederatedExtrapolation, LengthRestoring, MajorityVote>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

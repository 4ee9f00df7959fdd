#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

PartFamily& CohortPart::family() {
  static PartFamily family = [] {
    PartFamily all("cohort", "who takes part in a round");
    add_parts<CohortPart, AllClients, PoissonCohort, FixedCohort>(all);
    return all;
  }();
  return family;
}

PartFamily& ServerOptimizerPart::family() {
  static PartFamily family = [] {
    PartFamily all("server-optimizer", "what becomes of the mean change");
    add_parts<ServerOptimizerPart, FederatedAveraging>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

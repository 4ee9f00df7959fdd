#include "server/cohort.hpp"

namespace fedstride {

PartFamily& CohortPart::family() {
  static PartFamily family = [] {
    PartFamily all("cohort", "who takes part in a round");
    add_parts<CohortPart, AllClients, PoissonCohort, FixedCohort>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

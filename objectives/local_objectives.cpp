#include "objectives/dynamic.hpp"
#include "objectives/fair.hpp"
#include "objectives/local_objective.hpp"
#include "objectives/normalised.hpp"
#include "objectives/plain.hpp"
#include "objectives/proximal.hpp"
#include "objectives/scaffold.hpp"

namespace fedstride {

PartFamily& LocalObjectivePart::family() {
  static PartFamily family = [] {
    PartFamily all("local-objective", "what clients minimise besides their loss");
    add_parts<LocalObjectivePart, Plain, Proximal, Scaffold, Dynamic, Normalised, Fair>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

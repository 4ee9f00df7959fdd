#include "client/objectives/dynamic.hpp"
#include "client/objectives/fair.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/objectives/normalized.hpp"
#include "client/objectives/plain.hpp"
#include "client/objectives/proximal.hpp"
#include "client/objectives/scaffold.hpp"

namespace fedstride {

PartFamily& LocalObjectivePart::family() {
  static PartFamily family = [] {
    PartFamily all("local-objective", "what clients minimize in addition to their loss", Question::training, Shown::often);
    add_parts<LocalObjectivePart, Plain, Proximal, Scaffold, Dynamic, Normalized, Fair>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

#include "personal/ditto.hpp"
#include "personal/fine_tune.hpp"
#include "personal/local_layers.hpp"
#include "personal/no_personal.hpp"
#include "personal/personal.hpp"

namespace fedstride {

PartFamily& PersonalPart::family() {
  static PartFamily family = [] {
    PartFamily all("personal", "models that clients have for themselves");
    add_parts<PersonalPart, NoPersonal, FineTune, Ditto, LocalLayers>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

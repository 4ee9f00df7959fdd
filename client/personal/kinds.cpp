#include "client/personal/ditto.hpp"
#include "client/personal/fine_tune.hpp"
#include "client/personal/local_layers.hpp"
#include "client/personal/no_personal.hpp"
#include "client/personal/personal.hpp"

namespace fedstride {

PartFamily& PersonalPart::family() {
  static PartFamily family = [] {
    PartFamily all("personal", "clients' personal models", Question::training);
    add_parts<PersonalPart, NoPersonal, FineTune, Ditto, LocalLayers>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

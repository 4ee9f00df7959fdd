#include "client/attacks/attack.hpp"
#include "client/attacks/backdoor.hpp"
#include "client/attacks/gaussian.hpp"
#include "client/attacks/inner_product.hpp"
#include "client/attacks/label_flip.hpp"
#include "client/attacks/little_is_enough.hpp"
#include "client/attacks/no_attack.hpp"
#include "client/attacks/sign_flip.hpp"

namespace fedstride {

PartFamily& AttackPart::family() {
  static PartFamily family = [] {
    PartFamily all("attack", "how some clients attack the federation", Question::federation);
    add_parts<AttackPart, NoAttack, LabelFlip, SignFlip, GaussianAttack, Backdoor, LittleIsEnough, InnerProduct>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

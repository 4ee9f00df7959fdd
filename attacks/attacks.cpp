#include "attacks/attack.hpp"
#include "attacks/backdoor.hpp"
#include "attacks/gaussian.hpp"
#include "attacks/inner_product.hpp"
#include "attacks/label_flip.hpp"
#include "attacks/little_is_enough.hpp"
#include "attacks/no_attack.hpp"
#include "attacks/sign_flip.hpp"

namespace fedstride {

PartFamily& AttackPart::family() {
  static PartFamily family = [] {
    PartFamily all("attack", "what some clients do to the federation");
    add_parts<AttackPart, NoAttack, LabelFlip, SignFlip, GaussianAttack, Backdoor, LittleIsEnough, InnerProduct>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

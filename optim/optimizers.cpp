#include "optim/optimizers.hpp"

#include "optim/adadp.hpp"
#include "optim/adam.hpp"
#include "optim/ema.hpp"
#include "optim/heavy_ball.hpp"
#include "optim/optimizer_of.hpp"
#include "optim/pooled.hpp"
#include "optim/sgd.hpp"

namespace fedstride {

PartFamily& OptimizerPart::family() {
  static PartFamily family = [] {
    PartFamily all("optimizer", "how clients train");
    add_parts<OptimizerPart, Adadp, Sgd, HeavyBall, Ema, Adam, Pooled>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

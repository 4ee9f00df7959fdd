#include "client/optim/adadp.hpp"
#include "client/optim/adam.hpp"
#include "client/optim/adam_bc.hpp"
#include "client/optim/delta_sgd.hpp"
#include "client/optim/dog.hpp"
#include "client/optim/ema.hpp"
#include "client/optim/fed_sps.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/pooled.hpp"
#include "client/optim/prodigy.hpp"
#include "client/optim/schedule_free.hpp"
#include "client/optim/sgd.hpp"

namespace fedstride {

PartFamily& OptimizerPart::family() {
  static PartFamily family = [] {
    PartFamily all("optimizer", "how clients update their weights", Question::training, Shown::first);
    add_parts<OptimizerPart, Adadp, Sgd, HeavyBall, Ema, Adam, AdamBc, Pooled, DeltaSgd, FedSps, Dog, Prodigy, ScheduleFree>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

#pragma once

#include <variant>

#include "optim/adadp.hpp"
#include "optim/adam.hpp"
#include "optim/ema.hpp"
#include "optim/heavy_ball.hpp"
#include "optim/sgd.hpp"

namespace fedstride {

/// The registry of local optimisers; the first is the default.
using Optimizer = std::variant<Adadp, Sgd, HeavyBall, Ema, Adam>;

static_assert(LocalOptimizer<Adadp> && LocalOptimizer<Sgd> && LocalOptimizer<HeavyBall> && LocalOptimizer<Ema> &&
              LocalOptimizer<Adam>);

}  // namespace fedstride

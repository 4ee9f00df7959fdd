#pragma once

#include "client/optim/optimizer.hpp"

// To add a local optimizer, derive a class from OptimizerBase (client/optim/optimizer.hpp says what it may override) and register
// it with add_part<Optimizer>(MyOptimizer{}).

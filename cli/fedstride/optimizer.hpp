#pragma once

#include "client/optim/optimizer.hpp"

// Your own local optimizer: a class derived from OptimizerBase (client/optim/optimizer.hpp says what it may override), registered by
// add_part<Optimizer>(MyOptimizer{}).

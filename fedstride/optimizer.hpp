#pragma once

#include "optim/optimizer_of.hpp"
#include "optim/state_size.hpp"

// A local optimiser of one's own: a struct that is a LocalOptimizer (optim/optimizer.hpp says what it must have), made known
// by add_part<Optimizer>(MyOptimizer{}).

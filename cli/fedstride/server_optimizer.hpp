#pragma once

#include "server/server_optimizer.hpp"

// Your own server optimizer: a class derived from ServerOptimizerBase (server/server_optimizer.hpp), registered by
// add_part<ServerOptimizer>(MyServerOptimizer{}).

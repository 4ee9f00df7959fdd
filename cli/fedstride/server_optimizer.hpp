#pragma once

#include "server/server_optimizer.hpp"

// To add a server optimizer, derive a class from ServerOptimizerBase (server/server_optimizer.hpp) and register it with
// add_part<ServerOptimizer>(MyServerOptimizer{}).

#pragma once

#include "server/server_optimizer_of.hpp"

// A server optimiser of one's own: a struct that is a ServerOpt (server/server_optimizer.hpp), made known by
// add_part<ServerOptimizer>(MyServerOptimizer{}).

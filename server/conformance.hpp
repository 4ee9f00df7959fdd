#pragma once

#include <string>
#include <vector>

#include "server/server_optimizer.hpp"

namespace fedstride {

/// What a server optimiser, with the settings it has, does not keep of server/server_optimizer.hpp: a line each, none if all
/// is well. For the test of one of one's own:
///   CHECK(complaints(ServerOptimizer(MyServerOptimizer{})).empty());
std::vector<std::string> complaints(const ServerOptimizer& optimizer);

}  // namespace fedstride

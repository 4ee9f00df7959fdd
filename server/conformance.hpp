#pragma once

#include <string>
#include <vector>

#include "server/server_optimizer.hpp"

namespace fedstride {

/// The promises of server/server_optimizer.hpp that a server optimiser, with its settings, does not keep: a line each, none if all
/// is well. For the test of one of one's own:
///   CHECK(complaints(ServerOptimizer(MyServerOptimizer{})).empty());
std::vector<std::string> complaints(const ServerOptimizer& optimizer);

}  // namespace fedstride

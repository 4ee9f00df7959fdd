#pragma once

#include <string>
#include <vector>

#include "optim/optimizers.hpp"

namespace fedstride {

/// The promises of optim/optimizer.hpp that a local optimiser, with its settings, does not keep: a line each, none if all is well.
/// It is tried on small quadratic bowls, which takes milliseconds. For the test of an optimiser of one's own:
///   CHECK(complaints(Optimizer(MyOptimizer{})).empty());
std::vector<std::string> complaints(const Optimizer& optimizer);

}  // namespace fedstride

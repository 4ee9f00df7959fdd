#pragma once

#include <string>
#include <vector>

#include "objectives/local_objective.hpp"

namespace fedstride {

/// A line for each promise of every local objective that this one does not keep; empty if it keeps all.
std::vector<std::string> complaints(const LocalObjective& objective);

}  // namespace fedstride

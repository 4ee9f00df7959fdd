#pragma once

#include <string>
#include <vector>

#include "personal/personal.hpp"

namespace fedstride {

/// A line for each promise of every kind of personal model that this one does not keep; empty if it keeps all.
std::vector<std::string> complaints(const Personal& personal);

}  // namespace fedstride

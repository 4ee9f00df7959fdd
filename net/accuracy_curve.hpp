#pragma once

#include <string>
#include <vector>

#include "net/status.hpp"

namespace fedstride {

/// Test accuracy in percent over rounds, as an SVG element; a sentence instead if no round was evaluated.
std::string accuracy_curve(const std::vector<RoundPoint>& points);

}  // namespace fedstride

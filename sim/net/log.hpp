#pragma once

#include <functional>
#include <string>

namespace fedstride {

/// Receives one line for each network event. Called on the io thread.
using NetworkLog = std::function<void(const std::string& line)>;

}  // namespace fedstride

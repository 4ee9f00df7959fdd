#pragma once

#include <functional>
#include <string>

namespace fedstride {

/// Receives one line on an event of the network. Called from the io thread.
using NetworkLog = std::function<void(const std::string& line)>;

}  // namespace fedstride

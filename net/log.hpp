#pragma once

#include <functional>
#include <string>

namespace fedstride {

/// Takes one line about what happens on the network. Called from the io thread.
using NetworkLog = std::function<void(const std::string& line)>;

}  // namespace fedstride

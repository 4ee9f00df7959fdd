#pragma once

#include <string>

#include "cli/manual/command_info.hpp"

namespace fedstride {

/// "fedstride-privacy-epsilon.1"
std::string manual_page_name(const CommandInfo& command);

/// The page of a command, for man(1); `date` as it stands at the foot, "2024-05-31", or empty.
std::string manual_page(const CommandInfo& command, const std::string& version, const std::string& date);

}  // namespace fedstride

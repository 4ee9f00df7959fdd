#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// This program's name in hints: "fedstride", or the name by which your own program was called.
const std::string& program_name();

/// Must be called first, with argv[0] and the names of the program's commands. A file whose name begins with "fedstride" counts
/// as fedstride.
void set_program_name(std::string_view called, std::span<const std::string> commands);

/// The text with each "fedstride" that precedes a command replaced by this program's name.
std::string in_own_name(std::string text);

}  // namespace fedstride

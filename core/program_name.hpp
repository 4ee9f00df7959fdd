#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// How hints call this program: "fedstride", or a program of your own as it was called.
const std::string& program_name();

/// Call first, with argv[0] and the names of the program's commands. A file whose name begins with "fedstride" is fedstride.
void set_program_name(std::string_view called, std::span<const std::string> commands);

/// The text with "fedstride" before a command replaced by this program's name.
std::string in_own_name(std::string text);

}  // namespace fedstride

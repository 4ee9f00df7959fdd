#pragma once

#include <string>

#include "cli/manual/command_info.hpp"

namespace fedstride {

/// Scripts that complete commands, flags and the values of flags in a shell. `program` is the whole program.
std::string bash_completion(const CommandInfo& program);
std::string zsh_completion(const CommandInfo& program);
std::string fish_completion(const CommandInfo& program);

/// Each of `letters` in the text with `escape` before it.
std::string escaped(std::string_view text, std::string_view letters, std::string_view escape = "\\");

}  // namespace fedstride

#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace fedstride {

/// Throws Error (usage): the file's name, the line and the fault, in one line. Slow to compile: include it only in the few
/// files that read TOML.
inline toml::table parse_toml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::ranges::replace(what, '\n', ' ');
    throw usage_error("'" + name + "', line " + std::to_string(error.source().begin.line) + ": " + what);
  }
}

}  // namespace fedstride

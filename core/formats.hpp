#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace fedstride {

/// A file's first line names its kind and format: "fedstride checkpoint 8". Throws Error (refused) if `line` is of the same kind as
/// `expected` but another format; `name` begins the message.
inline void check_format(std::string_view line, std::string_view expected, const std::string& name) {
  const auto number = expected.rfind(' ') + 1;
  if (!line.starts_with(expected.substr(0, number))) return;
  const std::string_view found = line.substr(number, line.find_first_not_of("0123456789", number) - number);
  if (found.empty() || found.size() > 9 || found == expected.substr(number)) return;
  throw refused_for_good(name + " has format " + std::string(found) + "; this version reads format " +
                         std::string(expected.substr(number)) + " (docs/results.md#formats says which version reads which)");
}

}  // namespace fedstride

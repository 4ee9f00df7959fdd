#pragma once

#include <algorithm>
#include <string>

namespace fedstride {

/// The text with blanks for control characters: one line, without codes that move a terminal's cursor. For showing text
/// that comes from files and flags.
inline std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

}  // namespace fedstride

#pragma once

#include <algorithm>
#include <string>

namespace fedstride {

/// The text with blanks for control characters: one line, and no codes that move a terminal's cursor. For what files and
/// flags hold, where it is shown.
inline std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

}  // namespace fedstride

#include "core/html.hpp"

#include <cstdint>

namespace fedstride {

std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : (first & 0xf0) == 0xe0        ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_none =
      (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || code == 0xfffe || code == 0xffff || (code >= 0x80 && code < 0xa0);
  return overlong || is_none ? 0 : length;
}

std::string clean_text(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0)
      clean += "\xef\xbf\xbd";
    else
      clean += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : clean_text(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace fedstride

#include "report/html.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace fedstride {
namespace {

// Bytes of the character that begins here, 0 if none does (RFC 3629: no overlong forms, no surrogates).
std::size_t character(std::string_view text) {
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
  const bool is_none = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || code == 0xfffe || code == 0xffff ||
                       (code >= 0x80 && code < 0xa0);
  return overlong || is_none ? 0 : length;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character(text);
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

std::string url_of(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                          c == '_' || c == '.' || c == '/' || c == '~';
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    url += is_plain ? std::string(1, c) : std::string(buffer);
  }
  return url;
}

std::string shortened(const std::string& text, std::size_t most) {
  std::string result;
  std::string_view left = text;
  std::size_t last = 0;
  for (std::size_t count = 0; !left.empty(); ++count) {
    if (count == most) return result.substr(0, last) + "…";
    last = result.size();
    const std::size_t length = std::max<std::size_t>(1, character(left));
    result += left.substr(0, length);
    left.remove_prefix(length);
  }
  return result;
}

std::string number_for_people(double value) {
  char buffer[40];
  const double size = std::fabs(value);
  if (size >= 1000 && size < 1e15 && std::trunc(value) == value)
    std::snprintf(buffer, sizeof buffer, "%.0f", value);
  else
    std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

std::string spread_for_people(double mean, double deviation) {
  if (!std::isfinite(deviation)) return number_for_people(mean);
  if (deviation == 0) return number_for_people(mean) + " ± 0";
  // Two digits of the deviation, and the mean to the same place.
  const int place = static_cast<int>(std::floor(std::log10(deviation))) - 1;
  char buffer[80];
  if (place >= 0 && std::fabs(mean) < 1e15)
    std::snprintf(buffer, sizeof buffer, "%.0f ± %.0f", mean, deviation);
  else if (place >= -6)
    std::snprintf(buffer, sizeof buffer, "%.*f ± %.*f", -place, mean, -place, deviation);
  else
    std::snprintf(buffer, sizeof buffer, "%.4g ± %.2g", mean, deviation);
  return buffer;
}

}  // namespace fedstride

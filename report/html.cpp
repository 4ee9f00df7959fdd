#include "report/html.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fedstride {

std::string url_of(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
                          c == '.' || c == '/' || c == '~';
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
    const std::size_t length = std::max<std::size_t>(1, character_bytes(left));
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

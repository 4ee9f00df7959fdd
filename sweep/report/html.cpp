#include "sweep/report/html.hpp"

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

std::string folded(std::string_view title, const std::string& contents) {
  return contents.empty() ? "" : "<details>\n<summary>" + escaped(title) + "</summary>\n" + contents + "</details>\n";
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

std::string spread_for_people(double mean, double spread) {
  if (!std::isfinite(spread)) return number_for_people(mean);
  if (spread == 0) return number_for_people(mean) + " ± 0";
  // Rounds the spread to two significant digits, and the mean to the same decimal place.
  const int place = static_cast<int>(std::floor(std::log10(spread))) - 1;
  char buffer[80];
  if (place >= 0 && std::fabs(mean) < 1e15)
    std::snprintf(buffer, sizeof buffer, "%.0f ± %.0f", mean, spread);
  else if (place >= -6)
    std::snprintf(buffer, sizeof buffer, "%.*f ± %.*f", -place, mean, -place, spread);
  else
    std::snprintf(buffer, sizeof buffer, "%.4g ± %.2g", mean, spread);
  return buffer;
}

}  // namespace fedstride

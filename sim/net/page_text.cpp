#include "sim/net/page_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fedstride {

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) return "–";
  if (seconds < 9.95) return printed("%.1f s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 120) return printed("%lld s", whole);
  if (whole < 600) return printed("%lld min %02lld s", whole / 60, whole % 60);
  if (whole < 7200) return printed("%lld min", whole / 60);
  if (whole < 172800) return printed("%lld h %02lld min", whole / 3600, whole / 60 % 60);
  return printed("%lld d %lld h", whole / 86400, whole / 3600 % 24);
}

std::string bytes_text(std::uint64_t count) {
  if (count < 1000) return printed("%llu B", static_cast<unsigned long long>(count));
  double value = static_cast<double>(count) / 1000;
  std::size_t unit = 0;
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  return printed(value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
}

std::string grouped_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace fedstride {

/// "8.2 s", "3 min 05 s", "12 h 40 min"; a dash for NaN, negative or huge values.
std::string duration_text(double seconds);
/// "1.2 MB"; units are powers of 1000.
std::string bytes_text(std::uint64_t count);
/// "1,234,567"
std::string grouped_text(std::uint64_t count);

/// Formats like printf, up to 255 characters.
template <class... Values>
std::string printed(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace fedstride

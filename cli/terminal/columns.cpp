#include "cli/terminal/columns.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/text.hpp"

namespace fedstride {

std::size_t terminal_columns(std::size_t otherwise) {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : otherwise;
}

std::size_t terminal_rows(std::size_t otherwise) {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : otherwise;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent, std::size_t first_column) {
  std::string lines;
  std::size_t column = first_column;
  bool begins = true;
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!begins && column + 1 + word.size() > columns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
      begins = true;
    }
    lines += (begins ? "" : " ") + std::string(word);
    column += (begins ? 0 : 1) + word.size();
    begins = false;
  }
  return lines;
}

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<long>(std::min(std::round(seconds), 1e12));
  char text[48];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

std::string bar_text(double share, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

}  // namespace fedstride

#include "cli/terminal/columns.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

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

}  // namespace fedstride

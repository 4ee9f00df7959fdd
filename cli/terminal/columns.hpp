#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedstride {

/// The width of the terminal on standard output, or `otherwise` if it is not a terminal.
std::size_t terminal_columns(std::size_t otherwise);

/// The terminal's height in rows, or `otherwise`.
std::size_t terminal_rows(std::size_t otherwise);

/// Wraps the text at spaces into lines of at most `columns` characters. The first line starts at column `first_column`; the
/// others start with `indent` spaces. A longer word gets its own line.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent, std::size_t first_column);

/// "1:05" or "2:00:31"; "?" if the time is negative or not finite.
std::string clock_text(double seconds);

/// "[#########.....................]" with this many characters between the brackets; full for a share of 1 or more.
std::string bar_text(double share, std::size_t width);

}  // namespace fedstride

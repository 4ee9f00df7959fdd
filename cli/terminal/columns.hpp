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

}  // namespace fedstride

#pragma once

#include <cstddef>
#include <string>

#include "cli/manual/manual.hpp"

namespace fedstride {

/// The flags that a help page shows: the common ones, or all.
enum class Extent { usual, all };

/// Returns the text of --help (Extent::usual) or --help-all (Extent::all), for a terminal of this many columns.
std::string help_page(const CommandInfo& command, Extent extent, std::size_t columns);

/// An entry of a list: `head` in the first column and the wrapped text to its right, or below it on a narrow terminal.
std::string help_entry(const std::string& head, const std::string& text, std::size_t columns);
/// The entry of a flag; with Extent::all, each of its named values gets its own line.
std::string help_entry(const FlagInfo& flag, Extent extent, std::size_t columns);

/// The width in columns of a help page on standard output.
std::size_t help_columns();

}  // namespace fedstride

#pragma once

#include <filesystem>

#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads one part of a table of text: an example a line, gzipped or not, separated by ';', ',' or tabs (the first of these, in this order,
/// that the first line has); fields may stand in double quotes. The label is the last column, or those that `settings` names, by name or number (counted
/// from 1); the client, if any, the column it names; all others are features. The first line is a header if a column is named by
/// name, or if none of its fields is a number. Labels may be whole numbers, words, or numbers to predict. Throws Error (failure) naming file, line and field.
void read_csv(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);

}  // namespace fedstride

#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "data/files/read_settings.hpp"

namespace fedstride {

// The fields of a text table.

/// Reads a number with a decimal point. Numbers too large for a double become infinite, numbers too small 0.
bool parse_csv_number(std::string_view text, double& number);
/// Reads a number with a decimal comma: "-1,5".
bool parse_with_comma(std::string_view text, double& number);
/// True for "1,234" and "-12,345", where the comma may also separate thousands.
bool may_be_thousands(std::string_view text);
/// True for "1,234,567", "1,234.5" and "1.234,5".
bool has_thousands_separators(std::string_view text);

inline bool fits_float(double number) { return std::isfinite(static_cast<float>(number)); }
/// Completes an error message about a field whose number is out of range for single precision.
std::string beyond_floats(std::string_view field);

/// Numbers that are written with more than digits, as the settings `numbers` and `dates` name them.
struct NumberForms {
  bool currency = false;  ///< "$1,234.50", "12.30 EUR"
  bool percent = false;   ///< "12.3 %", which is 12.3
  bool dates = false;     ///< "2024-03-01", "2024-03-01T12:30:00+01:00": days since 1970-01-01, in UTC
  bool any() const { return currency || percent || dates; }
};
/// Throws Error (usage) for an unknown name in `numbers`.
NumberForms named_forms(const ReadSettings& settings);
/// The number in a field of one of these forms; nothing if it has none. `mark` automatic is a point.
std::optional<double> number_of_form(std::string_view field, const NumberForms& forms, DecimalMark mark);

/// What a word of which there are many is likely to be, and the flag that takes it.
std::string look_of(std::string_view word);
/// True for a column name that means "no name", such as "" or "Unnamed: 0", which pandas uses for an index.
bool is_nameless(std::string_view name);
/// True for a name that marks a column as the target.
bool names_target(std::string_view name);
/// True for a field that stands for a missing value.
bool is_missing(std::string_view field);
/// The field as part of a message.
std::string shown_field(std::string_view field);

}  // namespace fedstride

#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace fedstride {

/// Reads a number that is the whole of `text`, whatever the locale; false, and nothing is said of `number`, if it is none or out
/// of the type's range.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace fedstride

#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

/// The pieces between separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The text without white space at both ends.
std::string_view trimmed(std::string_view text);

/// The parts in one text: "a, b, c".
std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");
std::string joined(std::span<const std::string_view> parts, std::string_view separator = ", ");

/// "1 client", "5 clients"; `plural` for nouns that take more than an s: counted(2, "class", "classes").
std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {});

/// A number for people in four significant digits, rounded away so that a bound that is printed is still one:
/// rounded_up(0.00012345) is "0.0001235". "infinite" for infinity. number >= 0.
std::string rounded_up(double number);
std::string rounded_down(double number);

/// The name with the smallest edit distance, or an empty text if none is near.
std::string_view nearest(std::string_view name, std::span<const std::string> names);

/// "model 'adadp-cn' is unknown; did you mean 'adadp-cnn'? valid: ..."
std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string> names);

/// The shortest text that reads back as the same number ("0.1", "1e-05", "10").
template <class Number>
std::string number_text(Number number) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return {buffer, end};
}

}  // namespace fedstride

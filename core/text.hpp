#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fedstride {

/// The pieces between separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The text without leading and trailing white space.
std::string_view trimmed(std::string_view text);

/// The text with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// The parts joined into one text: "a, b, c".
std::string joined(const auto& parts, std::string_view separator = ", ") {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) (i == 0 ? text : text += separator) += parts[i];
  return text;
}

/// The text with control characters replaced by spaces: one line, without terminal escape codes. For showing text that comes
/// from files and flags.
std::string one_line(std::string text);

/// "1 client", "5 clients"; `plural` for nouns that take more than an s: counted(2, "class", "classes").
std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {});

/// The number with four significant digits, rounded so that a printed bound remains a bound: rounded_up(0.00012345) is
/// "0.0001235". Returns "infinite" for infinity. Requires number >= 0.
std::string rounded_up(double number);
std::string rounded_down(double number);

/// The one of `names` with the smallest edit distance from `name`; empty if none is close.
std::string_view nearest(std::string_view name, std::span<const std::string> names);

/// "model 'adadp-cn' is unknown; did you mean 'adadp-cnn'? valid: ..."
std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string> names);

/// Parses all of `text` as a number, independent of the locale. Returns false, leaving `number` unspecified, if it is not a
/// number or out of range.
bool parse_number(std::string_view text, auto& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// The shortest text that reads back as the same number ("0.1", "1e-05", "10").
std::string number_text(auto number) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return {buffer, end};
}

/// The number of bytes of the text's first UTF-8 character; 0 if there is none (RFC 3629: no overlong forms, no surrogates) or it
/// is a control character other than a newline or a tab.
std::size_t character_bytes(std::string_view text);

/// The text with invalid UTF-8, and each control character other than a newline or a tab, replaced by U+FFFD.
std::string clean_text(std::string_view text);

/// The text cut to at most `most` characters, with an ellipsis at the end if it was longer.
std::string shortened(const std::string& text, std::size_t most);

/// The text in single quotes, for bash and zsh.
std::string single_quoted(std::string_view text);
/// Returns the word, quoted for a POSIX shell if necessary.
std::string shell_quoted(const std::string& word);

/// The text escaped for use in HTML and XML, between tags and in quoted attributes.
std::string escaped(std::string_view text);

}  // namespace fedstride

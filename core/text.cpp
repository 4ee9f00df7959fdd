#include "core/text.hpp"

#include <algorithm>
#include <boost/locale/utf.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "core/field_words.hpp"

namespace fedstride {
namespace {

// Independent of the locale.
char lower_case(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

std::string with_four_digits(double number, int direction) {
  if (!std::isfinite(number)) return "infinite";
  if (number == 0) return "0";
  if (number < 1e-300) {  // the unit below would lose digits or become zero
    const double exponent = std::floor(std::log10(number));
    return with_four_digits(number * 1e300 / std::pow(10.0, exponent + 300), direction) + "e" + number_text(exponent);
  }
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
  // Numbers with four digits, up to rounding in their last bits, stay unchanged.
  double digits = number / unit;
  const double nearest_digits = std::round(digits);
  digits = std::abs(digits - nearest_digits) < 1e-9 ? nearest_digits : direction > 0 ? std::ceil(digits) : std::floor(digits);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", digits * unit);
  return text;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = lower_case(letter);
  return lower;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural) {
  std::string text = std::to_string(number) + " ";
  if (number == 1) return text += noun;
  return text += plural.empty() ? std::string(noun) + "s" : std::string(plural);
}

std::string rounded_up(double number) { return with_four_digits(number, 1); }
std::string rounded_down(double number) { return with_four_digits(number, -1); }

namespace {

// The minimum number of edits (insertions, deletions, replacements and swaps of neighboring letters) that turn one text into the
// other; case is ignored, and _ equals -.
std::size_t edits(std::string_view one, std::string_view other) {
  const auto same = [](char a, char b) {
    const auto folded = [](char c) { return c == '_' ? '-' : lower_case(c); };
    return folded(a) == folded(b);
  };
  std::vector<std::vector<std::size_t>> rows(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  for (std::size_t i = 1; i <= one.size(); ++i) {
    rows[i][0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = rows[i - 1][j - 1] + (same(one[i - 1], other[j - 1]) ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i][j - 1] + 1, rows[i - 1][j] + 1});
      if (i > 1 && j > 1 && same(one[i - 1], other[j - 2]) && same(one[i - 2], other[j - 1]))
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string> names) {
  // If more edits were allowed, a short name could become any other.
  const std::size_t most = name.size() < 5 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  std::string_view best;
  std::size_t best_distance = most + 1;
  for (const auto& candidate : names) {
    const std::size_t distance = edits(name, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string> names) {
  return std::string(what) + " '" + std::string(name) + "' is unknown; " + advice(what, name, names) + "valid: " + joined(names);
}

std::size_t character_bytes(std::string_view text) {
  const char* next = text.data();
  const std::uint32_t code = boost::locale::utf::utf_traits<char>::decode(next, text.data() + text.size());
  const bool is_control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
  const bool is_none =
      code == boost::locale::utf::illegal || code == boost::locale::utf::incomplete || code == 0xfffe || code == 0xffff;
  return is_control || is_none ? 0 : static_cast<std::size_t>(next - text.data());
}

std::string clean_text(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0)
      clean += "\xef\xbf\xbd";
    else
      clean += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string shortened(const std::string& text, std::size_t most) {
  std::string result;
  std::string_view left = text;
  std::size_t last = 0;
  for (std::size_t count = 0; !left.empty(); ++count) {
    if (count == most) return result.substr(0, last) + "…";
    last = result.size();
    const std::size_t length = std::max<std::size_t>(1, character_bytes(left));
    result += left.substr(0, length);
    left.remove_prefix(length);
  }
  return result;
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  return single_quoted(word);
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : clean_text(text)) {
    constexpr std::string_view kMarks = "&<>\"'";
    constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    if (const auto mark = kMarks.find(c); mark != kMarks.npos)
      html += kNames[mark];
    else
      html += c;
  }
  return html;
}

}  // namespace fedstride

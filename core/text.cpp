#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace fedstride {
namespace {

template <class Text>
std::string joined_texts(std::span<const Text> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string with_four_digits(double number, int direction) {
  if (!std::isfinite(number)) return "infinite";
  if (number == 0) return "0";
  if (number < 1e-300) {  // the unit below would lose digits, or be zero
    const double exponent = std::floor(std::log10(number));
    return with_four_digits(number * 1e300 / std::pow(10.0, exponent + 300), direction) + "e" + number_text(exponent);
  }
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
  // Numbers that four digits hold but for their last bits stay as they are.
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

std::string joined(std::span<const std::string> parts, std::string_view separator) { return joined_texts(parts, separator); }
std::string joined(std::span<const std::string_view> parts, std::string_view separator) { return joined_texts(parts, separator); }

std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural) {
  std::string text = std::to_string(number) + " ";
  if (number == 1) return text += noun;
  return text += plural.empty() ? std::string(noun) + "s" : std::string(plural);
}

std::string rounded_up(double number) { return with_four_digits(number, 1); }
std::string rounded_down(double number) { return with_four_digits(number, -1); }

std::string_view nearest(std::string_view name, std::span<const std::string> names) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& candidate : names) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = diagonal + (name[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string> names) {
  std::string text = std::string(what) + " '" + std::string(name) + "' is unknown; ";
  if (const auto near = nearest(name, names); !near.empty()) text += "did you mean '" + std::string(near) + "'? ";
  return text + "valid: " + joined(names);
}

}  // namespace fedstride

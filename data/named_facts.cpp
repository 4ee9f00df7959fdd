#include "data/named_facts.hpp"

#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"

namespace fedstride {

std::vector<float> named_numbers(std::string_view setting, const std::string& text) {
  std::vector<float> numbers;
  for (const std::string_view piece : split(text, ',')) {
    double number = 0;
    if (!parse_number(trimmed(piece), number) || !std::isfinite(static_cast<float>(number)))
      throw usage_error(std::string(setting) + " has '" + std::string(trimmed(piece)) +
                        "'; valid: finite numbers with commas between");
    numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

std::vector<std::string> named_classes(const std::string& text) {
  std::vector<std::string> classes;
  std::set<std::string_view> seen;
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view name = trimmed(piece);
    if (name.empty() || !seen.insert(name).second)
      throw usage_error("class-names has '" + std::string(name) + "'" + (name.empty() ? "" : " twice") +
                        "; valid: a name for each class, in order, with commas between");
    classes.emplace_back(name);
  }
  if (classes.size() < 2) throw usage_error("class-names is '" + text + "'; there must be at least two classes");
  return classes;
}

Shape named_shape(const std::string& text) {
  constexpr std::int64_t kMaxSide = 1 << 24;
  std::vector<int> sizes;
  for (const std::string_view piece : split(text, 'x')) {
    std::int64_t size = 0;
    if (!parse_number(piece, size) || size < 1 || size > kMaxSide || sizes.size() == 3)
      throw usage_error("shape is '" + text + "'; valid: height x width x channels as in 28x28x1, 28x28, or 784 for columns");
    sizes.push_back(static_cast<int>(size));
  }
  if (sizes.size() == 1) return {1, 1, sizes[0]};
  return {sizes[0], sizes[1], sizes.size() == 3 ? sizes[2] : 1};
}

std::optional<ValueRange> named_range(const ReadSettings& settings) {
  if (settings.range.empty()) return std::nullopt;
  const std::vector<float> bounds = named_numbers("range", settings.range);
  if (bounds.size() != 2 || !(bounds[0] < bounds[1]) || !std::isnormal((bounds[1] - bounds[0]) / 2))
    throw usage_error("range is '" + settings.range + "'; valid: two numbers, the lower one first, as in 0,1");
  return ValueRange{bounds[0], bounds[1]};
}

std::vector<std::string> named_words(const std::string& path) {
  constexpr std::size_t kMaxWords = 60000;  // tokens have 16 bits
  std::vector<std::string> words;
  std::set<std::string, std::less<>> seen;
  const std::string text = read_file(path);
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view word = trimmed(line);
    if (word.empty()) continue;
    if (!seen.emplace(word).second) throw usage_error("words '" + path + "' has '" + std::string(word) + "' twice");
    words.emplace_back(word);
    if (words.size() > kMaxWords) throw usage_error("words '" + path + "' has more than " + std::to_string(kMaxWords) + " words");
  }
  if (words.empty()) throw usage_error("words '" + path + "' has no word; valid: one a line");
  return words;
}

}  // namespace fedstride

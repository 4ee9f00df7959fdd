#include "data/named_facts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {

std::vector<std::string_view> pieces_by_column(std::string_view setting, std::string_view text,
                                               std::span<const std::string> columns, std::string_view form) {
  std::vector<std::string_view> pieces = split(text, ',');
  if (text.find('=') == text.npos) return pieces;
  std::vector<std::string_view> ordered(columns.size());
  for (const std::string_view piece : pieces) {
    const std::size_t equals = std::min(piece.rfind('='), piece.size());
    const std::string_view name = trimmed(piece.substr(0, equals));
    const auto column = static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    if (equals == piece.size() || column == columns.size() || !ordered[column].empty())
      throw usage_error(std::string(setting) + " has '" + std::string(trimmed(piece)) + "'; valid: COLUMN=" + std::string(form) +
                        ", separated by commas, once for each column of numbers" +
                        (columns.empty() ? ", but these data have none with a name" : ": " + joined(columns)));
    ordered[column] = trimmed(piece.substr(equals + 1));
  }
  std::vector<std::string> others;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (ordered[i].empty()) others.push_back(columns[i] + "=" + std::string(form));
  if (!others.empty())
    throw usage_error(std::string(setting) + " is '" + std::string(text) + "'; it must name every column of numbers, also " +
                      joined(others, ","));
  return ordered;
}

std::vector<float> named_numbers(std::string_view setting, const std::string& text, std::span<const std::string> columns) {
  std::vector<float> numbers;
  for (const std::string_view piece : pieces_by_column(setting, text, columns, "NUMBER")) {
    double number = 0;
    if (!parse_number(trimmed(piece), number) || !std::isfinite(static_cast<float>(number)))
      throw usage_error(std::string(setting) + " has '" + std::string(trimmed(piece)) +
                        "'; valid: finite numbers, separated by commas, or COLUMN=NUMBER for every column of numbers");
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
                        "; valid: one name per class, in order, separated by commas");
    classes.emplace_back(name);
  }
  if (classes.size() < 2) throw usage_error("class-names is '" + text + "'; at least two classes are needed");
  return classes;
}

std::vector<NamedCategories> named_categories(const std::string& text) {
  const auto wrong = [](std::string_view what) {
    return usage_error(
        "categories has '" + std::string(what) +
        "'; valid: a column's name or number and its words, such as city=Rome,Oslo;color=red,green, none of them twice");
  };
  std::vector<NamedCategories> all;
  if (text.empty()) return all;
  for (const std::string_view piece : split(text, ';')) {
    const std::size_t equals = piece.find('=');
    if (equals == piece.npos) throw wrong(trimmed(piece));
    NamedCategories one{.column = std::string(trimmed(piece.substr(0, equals))), .words = {}};
    for (const std::string_view word : split(piece.substr(equals + 1), ',')) {
      if (trimmed(word).empty() || std::ranges::find(one.words, trimmed(word)) != one.words.end()) throw wrong(trimmed(piece));
      one.words.emplace_back(trimmed(word));
    }
    if (one.column.empty() || std::ranges::find(all, one.column, &NamedCategories::column) != all.end())
      throw wrong(trimmed(piece));
    all.push_back(std::move(one));
  }
  return all;
}

std::string categories_text(const std::vector<NamedCategories>& categories) {
  const auto separates = [](const std::string& name) { return name.find_first_of(",;=") != name.npos || trimmed(name) != name; };
  std::string text;
  for (const NamedCategories& one : categories) {
    if (separates(one.column) || std::ranges::any_of(one.words, separates)) return "";
    text += (text.empty() ? "" : ";") + one.column + "=" + joined(one.words, ",");
  }
  return text;
}

std::vector<NamedOffset> named_offsets(const std::string& text) {
  std::vector<NamedOffset> all;
  if (text.empty()) return all;
  for (const std::string_view piece : split(text, ';')) {
    const std::size_t equals = std::min(piece.rfind('='), piece.size());
    NamedOffset one{.column = std::string(trimmed(piece.substr(0, equals)))};
    if (one.column.empty() || equals == piece.size() || !parse_number(trimmed(piece.substr(equals + 1)), one.offset) ||
        !std::isfinite(one.offset) || std::ranges::find(all, one.column, &NamedOffset::column) != all.end())
      throw usage_error(
          "offsets has '" + std::string(trimmed(piece)) +
          "'; valid: a column's name or number and a finite number, such as time=1700000000;price=1e9, no column twice");
    all.push_back(std::move(one));
  }
  return all;
}

std::string offsets_text(const std::vector<NamedOffset>& offsets) {
  std::string text;
  for (const NamedOffset& one : offsets) text += (text.empty() ? "" : ";") + one.column + "=" + number_text(one.offset);
  return text;
}

std::string auto_note(std::string_view setting, const std::string& what, std::string_view change) {
  return std::string(setting) + " auto: " + what + "; to change it: " + std::string(change);
}

Shape named_shape(const std::string& text) {
  constexpr std::int64_t kMaxSide = 1 << 24;
  std::vector<int> sizes;
  for (const std::string_view piece : split(text, 'x')) {
    std::int64_t size = 0;
    if (!parse_number(piece, size) || size < 1 || size > kMaxSide || sizes.size() == 3)
      throw usage_error("shape is '" + text +
                        "'; valid: height x width x channels (28x28x1), height x width (28x28) or a number of columns (784)");
    sizes.push_back(static_cast<int>(size));
  }
  if (sizes.size() == 1) return {1, 1, sizes[0]};
  return {sizes[0], sizes[1], sizes.size() == 3 ? sizes[2] : 1};
}

std::vector<ValueRange> named_ranges(const ReadSettings& settings, std::span<const std::string> columns) {
  std::vector<ValueRange> ranges;
  if (settings.range.empty()) return ranges;
  std::vector<std::string> pieces{settings.range};  // two numbers each
  if (settings.range.find('=') != settings.range.npos) {
    const auto by_column = pieces_by_column("range", settings.range, columns, "LOW..HIGH");
    pieces.assign(by_column.begin(), by_column.end());
    for (std::string& piece : pieces)
      if (const std::size_t dots = piece.find(".."); dots != piece.npos) piece.replace(dots, 2, ",");
  }
  for (const std::string& piece : pieces) {
    const std::vector<float> bounds = named_numbers("range", piece);
    if (bounds.size() != 2 || !(bounds[0] < bounds[1]) || !std::isnormal((bounds[1] - bounds[0]) / 2))
      throw usage_error("range is '" + settings.range +
                        "'; valid: two numbers, the lower first, such as 0,1, or by column, such as age=20..90,chol=100..600");
    ranges.push_back({bounds[0], bounds[1]});
  }
  return ranges;
}

std::optional<MomentBounds> named_moment_bounds(const ReadSettings& settings) {
  if (settings.normalize_clip.empty()) return std::nullopt;
  const std::vector<float> bounds = named_numbers("normalize-clip", settings.normalize_clip);
  if (bounds.size() != 2 || !(bounds[0] > 0) || !(bounds[1] > 0))
    throw usage_error(
        "normalize-clip is '" + settings.normalize_clip +
        "'; valid: two numbers above 0, which bound a record's contributions to the means and mean squares, such as 0.7,0.3");
  return MomentBounds{bounds[0], bounds[1]};
}

std::vector<std::string> named_words(const std::string& path) {
  std::vector<std::string> words;
  std::set<std::string, std::less<>> seen;
  const std::string text = read_text_file(path);
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view word = trimmed(line);
    if (word.empty()) continue;
    if (!seen.emplace(word).second) throw usage_error("words '" + path + "' has '" + std::string(word) + "' twice");
    words.emplace_back(word);
    if (words.size() > kMostWords)
      throw usage_error("words '" + path + "' has more than " + std::to_string(kMostWords) + " words");
  }
  if (words.empty()) throw usage_error("words '" + path + "' has no words; valid: one word per line");
  return words;
}

}  // namespace fedstride

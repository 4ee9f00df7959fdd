#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.hpp"
#include "data/files/read_settings.hpp"
#include "data/schema.hpp"

namespace fedstride {

/// Comma-separated numbers from a setting. Throws Error (usage) that names the setting for anything else.
std::vector<float> named_numbers(std::string_view setting, const std::string& text);

/// The names of class_names, in their order. Throws Error (usage) for an empty or repeated name.
std::vector<std::string> named_classes(const std::string& text);

/// The columns and words of the categories setting. Throws Error (usage) unless it is "COLUMN=WORD,WORD;COLUMN=WORD,WORD" without
/// empty or repeated names.
std::vector<NamedCategories> named_categories(const std::string& text);
/// The categories as a text; empty if a word has a character that separates words.
std::string categories_text(const std::vector<NamedCategories>& categories);

/// A constant that is subtracted from a column.
struct NamedOffset {
  std::string column = {};
  double offset = 0;
};
/// The columns and constants of the offsets setting. Throws Error (usage) unless it is "COLUMN=NUMBER;COLUMN=NUMBER".
std::vector<NamedOffset> named_offsets(const std::string& text);
/// The offsets as a text.
std::string offsets_text(const std::vector<NamedOffset>& offsets);

/// A note on a decision that a setting left open: "targets auto: WHAT; to change it: --targets values".
std::string auto_note(std::string_view setting, const std::string& what, std::string_view change);

/// A shape from a setting: "28x28x1", "28x28" or "784". Throws Error (usage).
Shape named_shape(const std::string& text);

/// The bounds in the range setting; nothing if it is empty. Throws Error (usage) unless they are two finite numbers, the
/// first below the second.
struct ValueRange {
  float low = 0;
  float high = 1;
};
std::optional<ValueRange> named_range(const ReadSettings& settings);

/// The norms of the normalize-clip setting; nothing if it is empty. Throws Error (usage) unless they are two numbers above 0.
struct MomentBounds {
  double mean = 1;
  double square = 1;
};
std::optional<MomentBounds> named_moment_bounds(const ReadSettings& settings);

inline constexpr std::size_t kMostWords = 60000;  ///< tokens have 16 bits
/// The words of a file, one per line. Throws Error (failure) if it cannot be read, (usage) if it has no words, duplicates, or too
/// many.
std::vector<std::string> named_words(const std::string& path);

}  // namespace fedstride

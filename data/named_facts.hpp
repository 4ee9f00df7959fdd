#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.hpp"
#include "data/files/read_settings.hpp"
#include "data/schema.hpp"

namespace fedstride {

/// The pieces of a setting that are separated by commas. If it names columns, "age=55,chol=240", it must name all of `columns`, and
/// the pieces after '=' are in their order. Throws Error (usage), with the columns that have none; `form` is that of a piece.
std::vector<std::string_view> pieces_by_column(std::string_view setting, std::string_view text,
                                               std::span<const std::string> columns, std::string_view form);

/// Parses comma-separated numbers from a setting, which may name a table's columns. Throws Error (usage) naming the setting if it
/// contains anything else.
std::vector<float> named_numbers(std::string_view setting, const std::string& text, std::span<const std::string> columns = {});

/// The names in the class_names setting, in order. Throws Error (usage) for an empty or repeated name.
std::vector<std::string> named_classes(const std::string& text);

/// The columns and words of the categories setting. Throws Error (usage) unless it is empty or
/// "COLUMN=WORD,WORD;COLUMN=WORD,WORD" without empty or repeated names.
std::vector<NamedCategories> named_categories(const std::string& text);
/// The categories as a string; empty if a word contains a separator.
std::string categories_text(const std::vector<NamedCategories>& categories);

/// A constant to subtract from a column.
struct NamedOffset {
  std::string column = {};
  double offset = 0;
};
/// The columns and constants of the offsets setting. Throws Error (usage) unless it is "COLUMN=NUMBER;COLUMN=NUMBER".
std::vector<NamedOffset> named_offsets(const std::string& text);
/// The offsets as a string.
std::string offsets_text(const std::vector<NamedOffset>& offsets);

/// A note on a decision that a setting left open: "targets auto: WHAT; to change it: --targets values".
std::string auto_note(std::string_view setting, const std::string& what, std::string_view change);

/// A shape from a setting: "28x28x1", "28x28" or "784". Throws Error (usage).
Shape named_shape(const std::string& text);

/// The bounds in the range setting: a pair for all inputs ("0,1") or for each of a table's columns of numbers
/// ("age=20..90,chol=100..600"); none if it is empty. Throws Error (usage) unless they are finite numbers, the first of a pair
/// below the second.
struct ValueRange {
  float low = 0;
  float high = 1;
};
std::vector<ValueRange> named_ranges(const ReadSettings& settings, std::span<const std::string> columns);

/// The bounds in the normalize-clip setting; nothing if it is empty. Throws Error (usage) unless they are two numbers above 0.
struct MomentBounds {
  double mean = 1;
  double square = 1;
};
std::optional<MomentBounds> named_moment_bounds(const ReadSettings& settings);

inline constexpr std::size_t kMostWords = 60000;  ///< tokens have 16 bits
/// The words in a file, one per line. Throws Error (failure) if it cannot be read, (usage) if it has no words, duplicates, or too
/// many.
std::vector<std::string> named_words(const std::string& path);

}  // namespace fedstride

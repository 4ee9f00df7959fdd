#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fedstride {

/// Texts by number, in the order in which they first came.
class Names {
 public:
  /// The number of a text, a new one if it is new.
  std::uint32_t number(std::string_view name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    const auto fresh = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(names_.back(), fresh);
    return fresh;
  }
  /// The number of a text that is there already; size() if it is not.
  std::uint32_t find(std::string_view name) const {
    const auto known = numbers_.find(name);
    return known == numbers_.end() ? static_cast<std::uint32_t>(names_.size()) : known->second;
  }
  std::size_t size() const { return names_.size(); }
  bool empty() const { return names_.empty(); }
  const std::vector<std::string>& all() const { return names_; }

  /// Orders the texts: whole numbers by size, others as texts. Returns each text's place by its number before.
  std::vector<std::uint32_t> sort();
  /// True if every text is a whole number (of 18 digits at most).
  bool are_whole() const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> numbers_;
};

}  // namespace fedstride

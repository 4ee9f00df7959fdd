#pragma once

#include <string>
#include <string_view>

namespace fedstride {

/// The level of a result at which a run ends, as in "test accuracy >= 0.6"; empty: it does not end early.
struct StopAt {
  std::string part = {};     ///< "test" or "validation"
  std::string measure = {};  ///< "accuracy", "r2" or "loss"
  bool at_least = true;      ///< otherwise at most
  double level = 0;

  bool is_set() const { return !measure.empty(); }
  bool operator==(const StopAt&) const = default;
  std::string text() const;
  /// Throws Error (usage) for other texts.
  static StopAt read(std::string_view text);
};

}  // namespace fedstride

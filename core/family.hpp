#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

/// What a setting may be. Numbers: between low and high, each bound included or not. Strings: one of `choices`
/// ("keep|reset"), anything if empty.
struct Valid {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_included = true;
  bool high_included = true;
  std::string_view choices = {};

  bool admits(double value) const {
    return std::isfinite(value) && (low_included ? value >= low : value > low) &&
           (high_included ? value <= high : value < high);
  }
  /// "a number above 0", "a whole number from 1", "valid: keep, reset".
  std::string text(bool whole) const;
};

inline constexpr Valid kPositive{.low = 0, .low_included = false};
inline constexpr Valid kNonNegative{.low = 0};
inline constexpr Valid kFraction{.low = 0, .high = 1};
inline constexpr Valid kAtLeastOne{.low = 1};

/// One setting of a part: its name as a flag and as a key, where it lives, what it means (with unit), what is valid.
/// Value is double, int, std::int64_t, std::uint64_t, bool or std::string. The default is the member's initial value.
template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
  std::string_view help;
  Valid valid = {};
};

template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view, Valid) -> Field<Owner, Value>;

/// Throws Error (usage) that names the setting and what is valid, unless the value is.
template <class Value>
void check_value(std::string_view name, const Valid& valid, const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    if (valid.choices.empty()) return;
    for (const auto choice : split(valid.choices, '|'))
      if (choice == value) return;
    throw usage_error(std::string(name) + " '" + value + "' is unknown; " + valid.text(false));
  } else if constexpr (!std::is_same_v<Value, bool>) {
    if (!valid.admits(static_cast<double>(value)))
      throw usage_error(std::string(name) + " is " + number_text(value) + "; it must be " +
                        valid.text(std::is_integral_v<Value>));
  }
}
template <class Owner, class Value>
void check_field(const Field<Owner, Value>& field, const Value& value) {
  check_value(field.name, field.valid, value);
}

/// A family is a std::variant of parts; the variant is the registry. Each part has
///   static constexpr std::string_view kName, kSummary;
///   static constexpr auto kFields = std::tuple{Field{...}, ...};
/// Calls visit(part-as-default-constructed) for every part in order.
template <class Family, class Visitor>
void for_each_part(Visitor&& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visitor(std::variant_alternative_t<I, Family>{}), ...);
  }(std::make_index_sequence<std::variant_size_v<Family>>{});
}

/// Calls visit(field) for every field of one part.
template <class Part, class Visitor>
void for_each_field(Visitor&& visitor) {
  std::apply([&](const auto&... field) { (visitor(field), ...); }, Part::kFields);
}

template <class Family>
std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for_each_part<Family>([&]<class Part>(const Part&) { names.emplace_back(Part::kName); });
  return names;
}

template <class Family>
std::string_view part_name(const Family& family) {
  return std::visit([]<class Part>(const Part&) { return Part::kName; }, family);
}

/// The part of that name with its defaults. Throws Error (usage): "optimizer 'agd' is unknown; did you mean 'sgd'? ..."
template <class Family>
Family make_part(std::string_view family_name, std::string_view name) {
  Family result;
  bool found = false;
  for_each_part<Family>([&]<class Part>(Part&& part) {
    if (std::remove_cvref_t<Part>::kName != name) return;
    result = std::forward<Part>(part);
    found = true;
  });
  if (!found) throw usage_error(unknown_name(family_name, name, part_names<Family>()));
  return result;
}

}  // namespace fedstride

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

/// The names of an enumeration's values, in order.
template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> names(const Text&... text) {
  return {std::string_view(text)...};
}

/// An enumeration whose values have names and count from 0:
///   enum class ToleranceSchedule { linear, constant };
///   constexpr auto choice_names(ToleranceSchedule) { return names("linear", "constant"); }
template <class E>
concept Choice = std::is_enum_v<E> && requires(E value) {
  choice_names(value);
};

template <Choice E>
inline constexpr auto kChoiceNames = choice_names(E{});

template <Choice E>
constexpr std::string_view choice_name(E value) {
  return kChoiceNames<E>[static_cast<std::size_t>(value)];
}

/// The value with this name, or nullopt.
template <Choice E>
constexpr std::optional<E> find_choice(std::string_view name) {
  for (std::size_t i = 0; i < kChoiceNames<E>.size(); ++i)
    if (kChoiceNames<E>[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

/// The value with this name. Throws Error (usage): "schedule 'up' is unknown; valid: linear, constant".
template <Choice E>
E make_choice(std::string_view what, std::string_view name) {
  if (const auto value = find_choice<E>(name)) return *value;
  throw usage_error(std::string(what) + " '" + std::string(name) + "' is unknown; valid: " + joined(kChoiceNames<E>));
}

}  // namespace fedstride

#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/setting.hpp"

namespace fedstride {

/// Throws Error (usage), naming the setting and its valid values, unless `value` is valid.
template <class Value>
void check_value(std::string_view name, const Valid& valid, const Value& value) {
  if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
    if (!valid.admits(static_cast<double>(value)))
      throw usage_error(std::string(name) + " is " + number_text(value) + "; it must be " +
                        valid.text(std::is_integral_v<Value>));
  }
}

/// A closed family is a std::variant of parts (core/part.hpp has open families); the variant is the registry. Each part has
///   static constexpr std::string_view kName, kSummary;
///   static constexpr auto kFields = fields(Field{...}, ...);
/// Calls visit(default-constructed part) for every part in order.
template <class Family, class Visitor>
void for_each_part(Visitor&& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visitor(std::variant_alternative_t<I, Family>{}), ...); }
  (std::make_index_sequence<std::variant_size_v<Family>>{});
}

template <class Family>
std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for_each_part<Family>([&]<class Part>(const Part&) { names.emplace_back(Part::kName); });
  return names;
}

std::string_view part_name(const auto& family) {
  return std::visit([]<class Part>(const Part&) { return Part::kName; }, family);
}

/// The part with this name, with default settings. Throws Error (usage): "optimizer 'agd' is unknown; did you mean 'sgd'? ..."
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

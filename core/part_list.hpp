#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/choice.hpp"

namespace fedstride {

/// Parts without settings are final classes with a kName and a common base. A std::tuple lists them, and an enumeration value is
/// an index into the list:
///   using DrawList = std::tuple<PoissonDraw, FullDraw>;
///   enum class Sampling {};
///   constexpr auto choice_names(Sampling) { return names_in<DrawList>(); }
///   inline const Draw& draw_of(Sampling sampling) { return part_in<Draw, DrawList>(sampling); }
template <class List>
constexpr auto names_in() {
  return []<class... P>(const std::tuple<P...>*) { return names(P::kName...); }(static_cast<List*>(nullptr));
}

template <class List, class Part>
inline constexpr int kPlaceIn = []<class... P>(const std::tuple<P...>*) {
  int place = 0;
  static_cast<void>(((std::is_same_v<Part, P> || (++place, false)) || ...));
  return place;
}(static_cast<List*>(nullptr));

template <class Base, class List, class Place>
const Base& part_in(Place place) {
  static const List parts;
  static const auto all = std::apply([](const auto&... one) { return std::array<const Base*, sizeof...(one)>{&one...}; }, parts);
  return *all[static_cast<std::size_t>(place)];
}

/// The names of an enumeration's values for which holds(value) is true.
template <Choice E, class Holds>
std::vector<std::string_view> names_where(const Holds& holds) {
  std::vector<std::string_view> found;
  for (const std::string_view name : kChoiceNames<E>)
    if (holds(*find_choice<E>(name))) found.push_back(name);
  return found;
}

/// The names of an enumeration's values, except this one.
template <Choice E>
constexpr auto all_but(std::string_view name) {
  std::array<std::string_view, kChoiceNames<E>.size() - 1> others;
  std::ranges::remove_copy(kChoiceNames<E>, others.begin(), name);
  return others;
}

}  // namespace fedstride

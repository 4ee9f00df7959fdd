#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/choice.hpp"
#include "core/part.hpp"

namespace fedstride {

/// The parts of a family, one of which is chosen by a setting in a larger group of settings; the first is the default. Interface
/// defines the setting's name, kKey, and its help, kPurpose.
template <class Interface, class... P>
struct ChoiceList {
  static constexpr auto names() { return fedstride::names(P::kName...); }
  static PartFamily family(Question question) {
    PartFamily all(Interface::kKey, Interface::kPurpose, question);
    add_parts<Interface, P...>(all);
    return all;
  }
};

namespace detail {

template <class Interface, class Self, class Settings>
Settings settings_of_part(const PartBase<Interface, Self, Settings>&);
// A distinct base for each part, even if parts have the same settings or none.
template <class P>
struct SettingsOf : decltype(settings_of_part(std::declval<P>())) {};

template <class Interface>
std::vector<KnownName> known_parts() {
  std::vector<KnownName> known;
  for (const auto& part : Interface::family().parts()) known.push_back({std::string(part->name()), std::string(part->summary())});
  return known;
}

}  // namespace detail

/// The base of settings that include this choice. It holds the chosen part's name, of enumeration type Name, and every part's
/// settings.
template <class List, class Name>
struct PartChoice;
template <class Interface, class... P, class Name>
struct PartChoice<ChoiceList<Interface, P...>, Name> : detail::SettingsOf<P>... {
  Name chosen = {};

  template <class One>
  bool has() const {
    return choice_name(chosen) == One::kName;
  }
  Chosen<Interface> part() const {
    Chosen<Interface> part;
    ((has<P>() ? void(part = P(static_cast<const detail::SettingsOf<P>&>(*this))) : void()), ...);
    return part;
  }
  static constexpr auto choice_fields() {
    constexpr auto kOfPart = []<class One>(std::type_identity<One>) {
      return One::kFields([](const auto&... field) { return fields(read_if_chosen<One>(field)...); });
    };
    return fields(
        Field{Interface::kKey, &PartChoice::chosen, Interface::kPurpose, Valid{.known = detail::known_parts<Interface>}},
        kOfPart(std::type_identity<P>{})...);
  }

 private:
  template <class One, class Owner, class Value>
  static constexpr Field<PartChoice, Value> read_if_chosen(const Field<Owner, Value>& field) {
    return {field.name, field.member, field.help, field.valid, field.shapes, &PartChoice::template has<One>};
  }
};

}  // namespace fedstride

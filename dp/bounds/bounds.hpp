#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/choice.hpp"
#include "dp/bounds/adaptive.hpp"
#include "dp/bounds/fixed.hpp"
#include "dp/bounds/scaled.hpp"

namespace fedstride {

/// The list of bounds; the first is the default.
template <class... P>
struct BoundList {};
using Bounds = BoundList<FixedBound, AdaptiveBound, ScaledBound>;
inline constexpr std::string_view kBoundsPurpose = "what bounds contributions, under both those of clients";

namespace detail {

template <class Interface, class Self, class Settings>
Settings settings_of_part(const PartBase<Interface, Self, Settings>&);
// A base for each part, also where parts have the same settings, or none.
template <class P>
struct SettingsOf : decltype(settings_of_part(std::declval<P>())) {};

}  // namespace detail

/// The name of a bound.
enum class ClipRule : std::uint8_t {};
constexpr auto choice_names(ClipRule) {
  return []<class... P>(BoundList<P...>) { return names(P::kName...); }(Bounds{});
}
/// All names and what they stand for.
std::vector<KnownName> known_bounds();

/// The settings of a level that has a choice of bounds: which, and those of each.
template <class List>
struct BoundSettingsOf;
template <class... P>
struct BoundSettingsOf<BoundList<P...>> : detail::SettingsOf<P>... {
  ClipRule clip_rule = {};

  template <class One>
  bool has() const {
    return choice_name(clip_rule) == One::kName;
  }
  Bound bound() const {
    Bound chosen;
    ((has<P>() ? void(chosen = P(static_cast<const detail::SettingsOf<P>&>(*this))) : void()), ...);
    return chosen;
  }
  static constexpr auto fields() {
    constexpr auto kOfPart = []<class One>(std::type_identity<One>) {
      return std::apply([](const auto&... field) { return std::tuple{read_if_chosen<One>(field)...}; }, One::kFields);
    };
    return std::tuple_cat(
        std::tuple{Field{"clip-rule", &BoundSettingsOf::clip_rule, kBoundsPurpose, Valid{.known = known_bounds}}},
        kOfPart(std::type_identity<P>{})...);
  }

 private:
  template <class One, class Owner, class Value>
  static constexpr Field<BoundSettingsOf, Value> read_if_chosen(const Field<Owner, Value>& field) {
    return {field.name, field.member, field.help, field.valid, field.shapes, &BoundSettingsOf::template has<One>};
  }
};
using BoundSettings = BoundSettingsOf<Bounds>;

/// What a ledger states of a bound: its rule, if it follows counts; otherwise the default.
ClipRule stated_rule(const Bound& bound);

}  // namespace fedstride

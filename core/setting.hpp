#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/choice.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

/// The kind of path that a text setting holds, if any.
enum class Place { none, file, folder, output };  // output: a file that is written

/// A named value that a setting may take, and its meaning (empty if the name explains itself).
struct KnownName {
  std::string name;
  std::string summary = {};
};

/// The valid values of a setting: numbers between low and high, each bound included or not.
struct Valid {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_included = true;
  bool high_included = true;
  Place place = Place::none;  ///< for a text setting that holds a path
  /// The known values of a text setting, for completion and the manual; other values may be valid too.
  std::vector<KnownName> (*known)() = nullptr;

  bool admits(double value) const {
    return std::isfinite(value) && (low_included ? value >= low : value > low) && (high_included ? value <= high : value < high);
  }
  /// "a number above 0", "a whole number from 1".
  std::string text(bool whole) const;
};

/// A number, or "auto" if the part determines it.
template <class Number>
struct Auto {
  Number value = 0;
  bool is_auto = false;
};
using AutoNumber = Auto<double>;
using AutoWhole = Auto<int>;
template <class Value>
concept AutoValue = std::is_same_v<Value, AutoNumber> || std::is_same_v<Value, AutoWhole>;

inline constexpr Valid kFile{.place = Place::file};
inline constexpr Valid kOutput{.place = Place::output};
inline constexpr Valid kFolder{.place = Place::folder};
inline constexpr Valid kPositive{.low = 0, .low_included = false};
inline constexpr Valid kNonNegative{.low = 0};
inline constexpr Valid kFraction{.low = 0, .high = 1};
inline constexpr Valid kAtLeastOne{.low = 1};

/// What a setting affects in a run. This decides whether it may change when a run is resumed, and whether it is part of the run's
/// identity and of the key of a sweep's cell.
enum class Shapes {
  model,    ///< the model: never changes; part of both
  length,   ///< the number of rounds: may grow when a run is resumed
  reports,  ///< the numbers reported for the model: may change; part of the cell's key only
  work,     ///< how and where the work is done, or where the data are: may change; part of neither
  screen,   ///< what is printed: like `work`, but not kept in a run's folder
  folder,   ///< where the results are, or a word for other settings: part of neither, not kept; cannot change
};
constexpr bool may_change(Shapes shapes) { return shapes != Shapes::model && shapes != Shapes::folder; }
constexpr bool shapes_output(Shapes shapes) { return shapes == Shapes::screen || shapes == Shapes::folder; }
constexpr bool shapes_rounds(Shapes shapes) { return shapes == Shapes::model || shapes == Shapes::length; }

/// The question that a setting answers, used as a heading in the help.
enum class Question { data, clients, model, training, federation, privacy, output };
inline constexpr std::string_view kQuestionTitles[] = {"Data",       "Clients", "Model",         "Training",
                                                       "Federation", "Privacy", "Run and output"};

/// How often people change a setting: --help shows `first` at the top, then `often`; --help-all shows all.
enum class Shown { first, often, seldom };

/// A value that is written as text; text() and read() are inverses.
template <class Value>
concept TextValue = requires(const Value value) {
  { value.text() } -> std::same_as<std::string>;
  { Value::read(std::string_view()) } -> std::same_as<Value>;
};

/// One setting of a part: its name as flag and key, its member, its meaning (with unit) and its valid values. Value is double,
/// an AutoValue, int, std::int64_t, std::uint64_t, bool, std::string, a TextValue or a Choice. The default is the member's initial
/// value.
template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
  std::string_view help;
  Valid valid = {};
  Shapes shapes = Shapes::model;
  /// True if the owner's other settings leave this one in effect; null: always.
  bool (Owner::*is_read)() const = nullptr;
  Question question = {};  ///< for a part's setting, the question of its family
  Shown shown = Shown::seldom;

  constexpr Field often() const { return with(question, Shown::often); }
  constexpr Field first() const { return with(question, Shown::first); }
  constexpr Field with(Question asked, Shown how_often) const {
    Field field = *this;
    field.question = asked;
    field.shown = how_often;
    return field;
  }
};

template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view, Valid) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view, Valid, Shapes) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(std::string_view, Value Owner::*, std::string_view, Valid, Shapes, bool (Owner::*)() const) -> Field<Owner, Value>;

/// The fields that answer one question.
template <class... Fields>
constexpr std::tuple<Fields...> about(Question question, const Fields&... fields) {
  return {fields.with(question, fields.shown)...};
}

/// A value as written in a file; a choice is written as its name.
using SettingValue = std::variant<bool, std::int64_t, double, std::string>;
/// "true", "3", "0.1", "adadp".
std::string value_text(const SettingValue& value);

enum class SettingKind { flag, whole, number, text, choice };

/// A type-erased Field: one type for every owner and every type of value.
struct SettingInfo {
  std::string_view name;
  std::string_view help;
  SettingKind kind = SettingKind::text;
  bool may_be_auto = false;  ///< a number, or the text "auto"
  Valid valid = {};
  Shapes shapes = Shapes::model;
  Question question = {};
  Shown shown = Shown::seldom;
  std::span<const std::string_view> choices = {};  ///< the valid names, if it is a choice
  std::int64_t lowest = 0;                         ///< lowest value the member can hold, if it is a whole number
  std::int64_t highest = 0;
  SettingValue (*get)(const void* owner) = nullptr;
  /// Requires a value of this setting's kind that check() accepts.
  void (*set)(void* owner, const SettingValue& value) = nullptr;
  /// False if the owner's other settings disable this one.
  bool (*is_read)(const void* owner) = nullptr;

  /// "a number above 0", "valid: keep, reset", "true or false", "a text".
  std::string valid_text() const;
  /// Throws Error (usage), naming the setting, the value and what is valid, if the value is invalid. A whole number is accepted
  /// as a number.
  void check(const SettingValue& value) const;
  /// Checks the value, then sets the owner's member. Throws like check().
  void assign(void* owner, const SettingValue& value) const {
    check(value);
    set(owner, value);
  }
};

/// The settings of a type with `static constexpr auto kFields = std::tuple{Field{...}, ...}`, in order.
template <class Owner>
std::span<const SettingInfo> settings_of();

namespace detail {

template <class Fields, std::size_t kIndex>
auto& member_of(auto& owner) {
  return owner.*(std::get<kIndex>(Fields::kFields).member);
}

inline double number_of(const SettingValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

template <class Owner, class Fields, std::size_t kIndex>
SettingValue get_setting(const void* owner) {
  const auto& value = member_of<Fields, kIndex>(*static_cast<const Owner*>(owner));
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (Choice<Value>)
    return std::string(choice_name(value));
  else if constexpr (AutoValue<Value>)
    return value.is_auto ? SettingValue(std::string("auto"))
                         : SettingValue(std::conditional_t<std::is_same_v<Value, AutoWhole>, std::int64_t, double>(value.value));
  else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
    return static_cast<std::int64_t>(value);
  else if constexpr (TextValue<Value>)
    return value.text();
  else
    return value;
}

template <class Owner, class Fields, std::size_t kIndex>
bool is_setting_read(const void* owner) {
  const auto is_read = std::get<kIndex>(Fields::kFields).is_read;
  return is_read == nullptr || (static_cast<const Owner*>(owner)->*is_read)();
}

template <class Owner, class Fields, std::size_t kIndex>
void set_setting(void* owner, const SettingValue& value) {
  auto& member = member_of<Fields, kIndex>(*static_cast<Owner*>(owner));
  using Value = std::remove_cvref_t<decltype(member)>;
  if constexpr (Choice<Value>) {
    member = *find_choice<Value>(std::get<std::string>(value));
  } else if constexpr (std::is_same_v<Value, double>) {
    member = number_of(value);
  } else if constexpr (AutoValue<Value>) {
    if (std::holds_alternative<std::string>(value))
      member.is_auto = true;
    else
      member = {.value = static_cast<decltype(member.value)>(number_of(value))};
  } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    member = static_cast<Value>(std::get<std::int64_t>(value));
  } else if constexpr (TextValue<Value>) {
    member = Value::read(std::get<std::string>(value));
  } else {
    member = std::get<Value>(value);
  }
}

template <class Owner, class Fields, std::size_t kIndex>
SettingInfo setting_info() {
  const auto& field = std::get<kIndex>(Fields::kFields);
  using Value = std::remove_cvref_t<decltype(std::declval<Owner>().*field.member)>;
  SettingInfo info{.name = field.name,
                   .help = field.help,
                   .may_be_auto = AutoValue<Value>,
                   .valid = field.valid,
                   .shapes = field.shapes,
                   .question = field.question,
                   .shown = field.shown,
                   .get = get_setting<Owner, Fields, kIndex>,
                   .set = set_setting<Owner, Fields, kIndex>,
                   .is_read = is_setting_read<Owner, Fields, kIndex>};
  if constexpr (Choice<Value>) {
    info.kind = SettingKind::choice;
    info.choices = kChoiceNames<Value>;
  } else if constexpr (std::is_same_v<Value, bool>) {
    info.kind = SettingKind::flag;
  } else if constexpr (std::is_same_v<Value, std::string> || TextValue<Value>) {
    info.kind = SettingKind::text;
  } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, AutoNumber>) {
    info.kind = SettingKind::number;
  } else {
    using Whole = std::conditional_t<std::is_same_v<Value, AutoWhole>, int, Value>;
    static_assert(std::is_integral_v<Whole>, "a setting is a number, a flag, a text or a Choice");
    info.kind = SettingKind::whole;
    constexpr auto kMaxValue = static_cast<std::uint64_t>(std::numeric_limits<Whole>::max());
    info.lowest = static_cast<std::int64_t>(std::numeric_limits<Whole>::min());
    info.highest = static_cast<std::int64_t>(std::min(kMaxValue, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  }
  return info;
}

/// The settings of Owner that Fields::kFields lists.
template <class Owner, class Fields>
std::span<const SettingInfo> setting_list() {
  static constexpr std::size_t kCount = std::tuple_size_v<std::remove_cvref_t<decltype(Fields::kFields)>>;
  static const auto list = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<SettingInfo, kCount>{setting_info<Owner, Fields, kIndex>()...};
  }
  (std::make_index_sequence<kCount>{});
  return list;
}

}  // namespace detail

template <class Owner>
std::span<const SettingInfo> settings_of() {
  return detail::setting_list<Owner, Owner>();
}

/// A value as given in a file or on the command line. Text from the command line is converted to the key's type.
struct Setting {
  SettingValue value;
  bool from_command_line = false;
};
using Settings = std::map<std::string, Setting, std::less<>>;

/// A setting as text; empty if it is not given.
std::string setting_text(const Settings& settings, std::string_view key);

}  // namespace fedstride

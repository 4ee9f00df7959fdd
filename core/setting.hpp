#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

/// What a setting says of itself.
struct SettingFacts {
  std::string_view name;
  std::string_view help;
  Valid valid = {};
  Shapes shapes = Shapes::model;
  Question question = {};  ///< for a part's setting, the question of its family
  Shown shown = Shown::seldom;
};

/// One setting of a part: its name as flag and key, its member, its meaning (with unit) and its valid values. Value is double,
/// an AutoValue, int, std::int64_t, std::uint64_t, bool, std::string, a TextValue or a Choice. The default is the member's initial
/// value.
template <class Owner, class Value>
struct Field : SettingFacts {
  Value Owner::*member;
  /// True if the owner's other settings leave this one in effect; null: always.
  bool (Owner::*is_read)() const;

  constexpr Field(std::string_view called, Value Owner::*held, std::string_view meaning, const Valid& good = {},
                  Shapes shaped = Shapes::model, bool (Owner::*condition)() const = nullptr)
      : SettingFacts{called, meaning, good, shaped}, member(held), is_read(condition) {}

  constexpr Field often() const { return with(question, Shown::often); }
  constexpr Field first() const { return with(question, Shown::first); }
  constexpr Field with(Question asked, Shown how_often) const {
    Field field = *this;
    field.question = asked;
    field.shown = how_often;
    return field;
  }
};

/// A list of fields and of other lists, in order: fields(...)(visit) returns visit(all of them). It compiles faster than a
/// std::tuple.
template <class... F>
constexpr auto fields(const F&... field) {
  return [=](const auto& visit) { return visit(field...); };
}
/// The fields that answer one question.
template <class... F>
constexpr auto about(Question question, const F&... field) {
  return fields(field.with(question, field.shown)...);
}

/// A value as written in a file; a choice is written as its name.
using SettingValue = std::variant<bool, std::int64_t, double, std::string>;
/// "true", "3", "0.1", "adadp".
std::string value_text(const SettingValue& value);

enum class SettingKind { flag, whole, number, text, choice };

/// What a setting's values are, and how its member holds them.
struct SettingType {
  SettingKind kind = SettingKind::text;
  bool may_be_auto = false;                        ///< a number, or the text "auto"
  std::span<const std::string_view> choices = {};  ///< the valid names, if it is a choice
  std::int64_t lowest = 0;                         ///< lowest value the member can hold, if it is a whole number
  std::int64_t highest = 0;
  SettingValue (*value_in)(const void* member) = nullptr;
  void (*put)(void* member, const SettingValue& value) = nullptr;
};

/// A type-erased Field: one type for every owner and every type of value.
struct SettingInfo : SettingFacts, SettingType {
  using Condition = std::array<std::ptrdiff_t, 2>;  ///< holds a pointer to a member function

  std::ptrdiff_t offset = 0;  ///< of the member in its owner: what a pointer to a data member holds (Itanium C++ ABI)
  Condition condition = {};   ///< the Field's is_read
  bool (*holds)(const void* owner, const Condition& condition) = nullptr;

  SettingValue get(const void* owner) const { return value_in(static_cast<const char*>(owner) + offset); }
  /// Requires a value of this setting's kind that check() accepts.
  void set(void* owner, const SettingValue& value) const { put(static_cast<char*>(owner) + offset, value); }
  /// False if the owner's other settings disable this one.
  bool is_read(const void* owner) const { return holds(owner, condition); }

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

namespace detail {

double number_of(const SettingValue& value);
SettingValue choice_value(std::string_view name);
/// The place of the value's name, which is one of these.
std::size_t choice_place(std::span<const std::string_view> names, const SettingValue& value);
void add_setting(std::vector<SettingInfo>& infos, const SettingFacts& facts, const SettingType& type, std::ptrdiff_t offset,
                 const SettingInfo::Condition& condition, bool (*holds)(const void*, const SettingInfo::Condition&));

template <class Value>
SettingValue value_in(const void* member) {
  const auto& value = *static_cast<const Value*>(member);
  if constexpr (Choice<Value>)
    return choice_value(choice_name(value));
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

template <class Value>
void put(void* place, const SettingValue& value) {
  auto& member = *static_cast<Value*>(place);
  if constexpr (Choice<Value>) {
    member = static_cast<Value>(choice_place(kChoiceNames<Value>, value));
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

template <class Value>
constexpr SettingType setting_type() {
  SettingType type{.may_be_auto = AutoValue<Value>, .value_in = value_in<Value>, .put = put<Value>};
  if constexpr (Choice<Value>) {
    type.kind = SettingKind::choice;
    type.choices = kChoiceNames<Value>;
  } else if constexpr (std::is_same_v<Value, bool>) {
    type.kind = SettingKind::flag;
  } else if constexpr (std::is_same_v<Value, std::string> || TextValue<Value>) {
    type.kind = SettingKind::text;
  } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, AutoNumber>) {
    type.kind = SettingKind::number;
  } else {
    using Whole = std::conditional_t<std::is_same_v<Value, AutoWhole>, int, Value>;
    static_assert(std::is_integral_v<Whole>, "a setting is a number, a flag, a text or a Choice");
    type.kind = SettingKind::whole;
    constexpr auto kMaxValue = static_cast<std::uint64_t>(std::numeric_limits<Whole>::max());
    type.lowest = static_cast<std::int64_t>(std::numeric_limits<Whole>::min());
    type.highest = static_cast<std::int64_t>(std::min(kMaxValue, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  }
  return type;
}
template <class Value>
inline constexpr SettingType kSettingType = setting_type<Value>();

template <class Owner>
bool holds(const void* owner, const SettingInfo::Condition& condition) {
  const auto is_read = std::bit_cast<bool (Owner::*)() const>(condition);
  return is_read == nullptr || (static_cast<const Owner*>(owner)->*is_read)();
}

/// The settings of Owner in lists of fields.
template <class Owner>
struct SettingList {
  std::vector<SettingInfo> infos = {};

  template <class Base, class Value>
  void add(const Field<Base, Value>& field) {
    bool (Owner::*const is_read)() const = field.is_read;
    Value Owner::*const member = field.member;
    add_setting(infos, field, kSettingType<Value>, std::bit_cast<std::ptrdiff_t>(member),
                std::bit_cast<SettingInfo::Condition>(is_read), holds<Owner>);
  }
  template <class List>
  void add(const List& list) {
    list([&](const auto&... one) { (add(one), ...); });
  }
};

}  // namespace detail

/// The settings of a type with `static constexpr auto kFields = fields(Field{...}, ...)`, in order.
template <class Owner, class Fields = Owner>
std::span<const SettingInfo> settings_of() {
  static const std::vector<SettingInfo> all = [] {
    detail::SettingList<Owner> list;
    list.add(Fields::kFields);
    return list.infos;
  }();
  return all;
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

#include "core/setting.hpp"

#include <algorithm>

#include "core/field_words.hpp"

namespace fedstride {
namespace {

// True if the text lists several numbers, each valid by itself: "1,2".
bool lists_numbers(std::string_view text, const Valid& valid) {
  const auto values = split(text, ',');
  return values.size() > 1 && std::ranges::all_of(values, [&](std::string_view one) {
           double number = 0;
           return parse_number(one, number) && valid.admits(number);
         });
}

}  // namespace

std::string Valid::text(bool whole) const {
  // Writes an integer bound in digits ("1000000"), although "1e+06" would be shorter.
  const auto number_text = [](double bound) {
    const bool exact = std::trunc(bound) == bound && std::fabs(bound) < 0x1p53;
    return exact ? fedstride::number_text(static_cast<std::int64_t>(bound)) : fedstride::number_text(bound);
  };
  std::string text = whole ? "a whole number" : "a number";
  if (std::isfinite(low) && std::isfinite(high) && low_included && high_included)
    return text + " from " + number_text(low) + " to " + number_text(high);
  if (std::isfinite(low)) text += low_included ? " from " + number_text(low) : " above " + number_text(low);
  if (std::isfinite(high))
    text += (std::isfinite(low) ? " and" : "") + std::string(high_included ? " up to " : " below ") + number_text(high);
  return text;
}

std::string value_text(const SettingValue& value) {
  return std::visit(
      []<class Value>(const Value& held) -> std::string {
        if constexpr (std::is_same_v<Value, bool>)
          return held ? "true" : "false";
        else if constexpr (std::is_same_v<Value, std::string>)
          return held;
        else
          return number_text(held);
      },
      value);
}

std::string setting_text(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : value_text(found->second.value);
}

namespace detail {

double number_of(const SettingValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

SettingValue choice_value(std::string_view name) { return std::string(name); }

std::size_t choice_place(std::span<const std::string_view> names, const SettingValue& value) {
  return static_cast<std::size_t>(std::ranges::find(names, std::get<std::string>(value)) - names.begin());
}

void add_setting(std::vector<SettingInfo>& infos, const SettingFacts& facts, const SettingType& type, std::ptrdiff_t offset,
                 const SettingInfo::Condition& condition, bool (*holds)(const void*, const SettingInfo::Condition&)) {
  infos.push_back({facts, type, offset, condition, holds});
}

}  // namespace detail

std::string SettingInfo::valid_text() const {
  switch (kind) {
    case SettingKind::flag:
      return "true or false";
    case SettingKind::text:
      return "a text";
    case SettingKind::whole:
    case SettingKind::number:
      return valid.text(kind == SettingKind::whole) + (may_be_auto ? ", or auto" : "");
    case SettingKind::choice:
      break;
  }
  return "valid: " + joined(choices);
}

void SettingInfo::check(const SettingValue& value) const {
  bool right_kind = false;
  bool good = false;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool is_auto = may_be_auto && *text == "auto";
    right_kind = kind == SettingKind::text || kind == SettingKind::choice || is_auto;
    good = kind == SettingKind::text || std::ranges::find(choices, *text) != choices.end() || is_auto;
    if (right_kind && !good) {
      std::vector<std::string> names(choices.begin(), choices.end());
      if (may_be_auto) names.emplace_back("auto");
      throw usage_error(unknown_name(name, *text, names));
    }
  } else if (std::holds_alternative<bool>(value)) {
    right_kind = good = kind == SettingKind::flag;
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    right_kind = kind == SettingKind::number || (kind == SettingKind::whole && *whole >= lowest && *whole <= highest);
    good = valid.admits(static_cast<double>(*whole));
  } else {
    right_kind = kind == SettingKind::number;
    good = valid.admits(std::get<double>(value));
  }
  if (right_kind && good) return;
  const auto* number = std::get_if<double>(&value);
  if (kind == SettingKind::whole && number != nullptr && std::trunc(*number) == *number && std::fabs(*number) < 0x1p53) {
    const std::string whole = number_text(static_cast<std::int64_t>(*number));
    throw usage_error(std::string(name) + " is " + whole + ".0, a floating-point number; write " + whole);
  }
  if (!right_kind) {
    const auto* text = std::get_if<std::string>(&value);
    const bool is_list = text != nullptr && kind != SettingKind::flag && lists_numbers(*text, valid);
    throw usage_error(std::string(name) + " is '" + value_text(value) + "'; " +
                      (kind == SettingKind::choice ? "" : "it must be ") + valid_text() +
                      (is_list ? "; " + std::string(kWhereListsGo) : ""));
  }
  throw usage_error(std::string(name) + " is " + value_text(value) + "; it must be " + valid_text());
}

}  // namespace fedstride

#include "data/files/csv_fields.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

bool parse_csv_number(std::string_view text, double& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (text.ends_with(')')) return false;  // "nan(1)"
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    number = std::strtod(std::string(text).c_str(), nullptr);  // tells large ones from small ones
    if (std::abs(number) < 1) number = 0;
  }
  return true;
}

bool parse_with_comma(std::string_view text, double& number) {
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find('.') != text.npos) return false;
  std::string pointed(text);
  pointed[comma] = '.';
  return parse_csv_number(pointed, number);
}

bool may_be_thousands(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  return comma >= 1 && comma <= 3 && text.size() == comma + 4 && text.front() != '0' && text.find_first_of("eE") == text.npos;
}

bool has_thousands_separators(std::string_view text) {
  std::string all(text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0));
  const bool has_both = all.find(',') != all.npos && all.find('.') != all.npos;
  if (all.find_first_not_of("0123456789,.") != all.npos || all.find(',') == all.npos) return false;
  std::ranges::replace(all, '.', ',');
  const auto groups = split(all, ',');
  const auto has_three = [](std::string_view group) { return group.size() == 3; };
  return groups.size() > 2 && !groups.front().empty() && groups.front().size() <= 3 &&
         std::all_of(groups.begin() + 1, groups.end() - (has_both ? 1 : 0), has_three);
}

std::string beyond_floats(std::string_view field) {
  const bool is_infinite = field.find_first_of("nN") != field.npos;  // "inf"
  return is_infinite ? "which is not finite" : "which is too large; numbers go up to 3.4e38";
}

bool is_nameless(std::string_view name) {
  if (name.empty()) return true;
  constexpr std::string_view kUnnamed = "Unnamed: ";
  return name.starts_with(kUnnamed) && name.find_first_not_of("0123456789.", kUnnamed.size()) == name.npos;
}

bool names_target(std::string_view name) {
  constexpr std::string_view kNames[] = {"label", "target", "y", "class"};
  return std::ranges::find(kNames, lower_case(name)) != std::end(kNames);
}

bool is_missing(std::string_view field) {
  if (!field.empty() && (field[0] == '-' || field[0] == '.' || (field[0] >= '0' && field[0] <= '9')))
    return false;  // nearly always
  constexpr std::string_view kMissing[] = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>"};
  return std::ranges::find(kMissing, field) != std::end(kMissing);
}

std::string shown_field(std::string_view field) { return one_line(std::string(field.substr(0, 40))); }

NumberForms named_forms(const ReadSettings& settings) {
  NumberForms forms{.dates = settings.dates};
  if (settings.numbers.empty()) return forms;
  for (const std::string_view piece : split(settings.numbers, ',')) {
    const std::string_view name = trimmed(piece);
    if (name != "currency" && name != "percent")
      throw usage_error("numbers has '" + std::string(name) + "'; valid: currency, percent, or both, separated by a comma");
    (name == "currency" ? forms.currency : forms.percent) = true;
  }
  return forms;
}

namespace {

/// Reads so many digits from the front of `text`; negative if they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  int number = 0;
  if (text.size() < count || text.front() == '-') return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, number);
  if (error != std::errc() || end != text.data() + count) return -1;
  text.remove_prefix(count);
  return number;
}

bool take(std::string_view& text, char wanted) {
  const bool is_there = text.starts_with(wanted);
  if (is_there) text.remove_prefix(1);
  return is_there;
}

/// The days of a date, with or without a time (ISO 8601), since 1970-01-01.
std::optional<double> days_of(std::string_view text) {
  namespace chrono = std::chrono;
  const int year = take_digits(text, 4);
  if (year < 0 || !take(text, '-')) return std::nullopt;
  const int month = take_digits(text, 2);
  if (month < 0 || !take(text, '-')) return std::nullopt;
  const int day = take_digits(text, 2);
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(std::max(day, 0)))};
  if (day < 0 || !date.ok()) return std::nullopt;
  const auto days = static_cast<double>(chrono::sys_days(date).time_since_epoch().count());
  if (text.empty()) return days;
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  const int hours = take_digits(text, 2);
  if (hours < 0 || hours > 23 || !take(text, ':')) return std::nullopt;
  const int minutes = take_digits(text, 2);
  if (minutes < 0 || minutes > 59) return std::nullopt;
  double seconds = 0;
  if (take(text, ':')) {
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
    if (!parse_csv_number(digits, seconds) || seconds >= 61) return std::nullopt;
    text.remove_prefix(digits.size());
  }
  int east = 0;  // minutes
  if (!text.empty() && text != "Z") {
    const int sign = take(text, '+') ? 1 : take(text, '-') ? -1 : 0;
    const int zone_hours = sign == 0 ? -1 : take_digits(text, 2);
    if (zone_hours < 0) return std::nullopt;
    take(text, ':');
    const int zone_minutes = text.empty() ? 0 : take_digits(text, 2);
    if (zone_minutes < 0 || !text.empty()) return std::nullopt;
    east = sign * (60 * zone_hours + zone_minutes);
  }
  return days + (60.0 * (60 * hours + minutes - east) + seconds) / 86400;
}

/// Reads a number whose thousands may be separated.
bool parse_grouped(std::string_view text, DecimalMark mark, double& number) {
  const char separator = mark == DecimalMark::comma ? '.' : ',';
  std::string digits(text);
  if (digits.find(separator) != digits.npos) {
    const std::string_view whole = text.substr(0, text.find(mark == DecimalMark::comma ? ',' : '.'));
    if (text.substr(whole.size()).find(separator) != text.npos) return false;  // the marks are the other way round
    const auto groups = split(whole, separator);
    const bool is_grouped =
        groups.front().find_first_of("0123456789") != std::string_view::npos && groups.front().size() <= 4 &&
        std::all_of(groups.begin() + 1, groups.end(), [](std::string_view group) { return group.size() == 3; });
    if (!is_grouped) return false;
    std::erase(digits, separator);
  }
  return parse_csv_number(digits, number) || (mark == DecimalMark::comma && parse_with_comma(digits, number));
}

/// The field without a currency's sign or code at either end; empty if it has none.
std::string without_currency(std::string_view field) {
  constexpr std::string_view kSigns[] = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5",
                                         "\xE2\x82\xB9"};  // dollar, euro, pound, yen, rupee
  const auto is_code = [](std::string_view text) {
    return text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  const std::string sign = take(field, '-') ? "-" : "";
  for (const std::string_view currency : kSigns) {
    if (field.starts_with(currency)) return sign + std::string(trimmed(field.substr(currency.size())));
    if (field.ends_with(currency)) return sign + std::string(trimmed(field.substr(0, field.size() - currency.size())));
  }
  if (field.size() <= 3) return "";
  if (is_code(field.substr(0, 3))) return sign + std::string(trimmed(field.substr(3)));
  return is_code(field.substr(field.size() - 3)) ? sign + std::string(trimmed(field.substr(0, field.size() - 3))) : "";
}

}  // namespace

std::optional<double> number_of_form(std::string_view field, const NumberForms& forms, DecimalMark mark) {
  double number = 0;
  if (forms.dates)
    if (const std::optional<double> days = days_of(field)) return days;
  if (forms.percent && field.ends_with('%') && parse_grouped(trimmed(field.substr(0, field.size() - 1)), mark, number))
    return number;
  if (const std::string plain = forms.currency ? without_currency(field) : "";
      !plain.empty() && parse_grouped(plain, mark, number))
    return number;
  return std::nullopt;
}

std::string look_of(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto count = [&](std::string_view among) {
    return std::ranges::count_if(word, [&](char c) { return among.find(c) != among.npos; });
  };
  if (number_of_form(word, {.dates = true}, DecimalMark::point)) return "a date or a time: --dates";
  for (const DecimalMark mark : {DecimalMark::point, DecimalMark::comma}) {
    const std::string also = mark == DecimalMark::comma ? " --decimal-mark comma" : "";
    if (number_of_form(word, {.percent = true}, mark)) return "a percentage: --numbers percent" + also;
    if (number_of_form(word, {.currency = true}, mark)) return "an amount: --numbers currency" + also;
  }
  const auto digits = std::ranges::count_if(word, is_digit), marks = count("-/:.");
  if (digits >= 4 && marks >= 2) return "a date or a time, not as in 2024-03-01T12:30";
  if (digits > 0 && marks <= 1 && is_digit(word.front()) != is_digit(word.back())) return "a number with a unit, or an id";
  return digits > 0 ? "an id" : "free text";
}

}  // namespace fedstride

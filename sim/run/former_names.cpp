#include "sim/run/former_names.hpp"

#include <algorithm>
#include <iterator>

#include "core/text.hpp"

namespace fedstride {

std::span<const FormerName> former_names() {
  static const std::vector<FormerName> all{
      {.key = "too-long", .former = "discard", .values = {{"undo", "on"}, {"keep", "off"}}, .is_in_identities = false},
      {.key = "tolerance-schedule", .former = "course", .values = {{"linear", "falling"}}},
      {.key = "normalize", .former = "normalise", .values = {}},
      {.key = "normalize-noise", .former = "normalise-noise", .values = {}},
      {.key = "initialization", .former = "initialisation", .values = {}},
      {.key = "feature-skew", .former = "feature-skew", .values = {{"color", "colour"}}},
      {.key = "color", .former = "colour", .values = {}},
  };
  return all;
}

bool bring_up_to_date(std::string& key, SettingValue& value) {
  for (const FormerName& one : former_names()) {
    if (key != one.former) continue;
    key = one.key;
    if (auto* text = std::get_if<std::string>(&value))
      for (const auto& [now, before] : one.values)
        if (*text == before) *text = now;
    return one.former != one.key;
  }
  return false;
}

std::string with_identity_names(std::string_view settings) {
  // Settings that are younger than identities, with values that leave everything as it was before them.
  constexpr std::string_view kYounger[] = {"inputs = ''",
                                           "drop-columns = ''",
                                           "categories = ''",
                                           "missing = 'auto'",
                                           "compress-up = 'none'",
                                           "compress-down = 'none'",
                                           "error-feedback = 'none'",
                                           "devices = 'none'",
                                           "mode = 'sync'",
                                           "deadline = 0.0",
                                           "over-selection = 1.0",
                                           "availability = 'always'",
                                           "minimum-arrivals = 1",
                                           "noise-law = 'skellam'",
                                           "minimum-survivors = 0",
                                           "clip-rule = 'fixed'",
                                           "clip-quantile = 0.5",
                                           "clip-rate = 0.2",
                                           "clip-count-noise = 0.0",
                                           "noise-mechanism = 'independent'",
                                           "minimum-separation = 1",
                                           "noise-buffers = 4",
                                           "tree-restart = 0",
                                           "tensorboard = ''"};
  std::string result;
  for (const auto line : split(settings, '\n')) {
    if (line.empty() || std::ranges::find(kYounger, line) != std::end(kYounger)) continue;
    const auto end = line.find(" = ");
    std::string key(line.substr(0, end)), value(line.substr(end));
    for (const FormerName& one : former_names()) {
      if (!one.is_in_identities || key != one.key) continue;
      key = one.former;
      for (const auto& [now, before] : one.values)
        if (value == " = '" + std::string(now) + "'") value = " = '" + std::string(before) + "'";
      break;
    }
    result += key + value + "\n";
  }
  return result;
}

std::string_view identity_name(std::string_view key) {
  for (const FormerName& one : former_names())
    if (one.is_in_identities && one.key == key) return one.former;
  return key;
}

std::string former_name_note(std::string_view former, std::string_view key) {
  return "'" + std::string(former) + "' is now '" + std::string(key) + "'; the former name is read until version 0.5";
}

}  // namespace fedstride

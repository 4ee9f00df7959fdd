#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/setting.hpp"

namespace fedstride::test {

/// Other valid values of a setting; `file` is one for settings that name files.
inline std::vector<SettingValue> other_values(const SettingInfo& info, const SettingValue& now, const std::string& file) {
  std::vector<SettingValue> values;
  const auto add = [&](const SettingValue& value) {
    try {
      info.check(value);
      if (value_text(value) != value_text(now)) values.push_back(value);
    } catch (const Error&) {
    }
  };
  for (const std::string_view choice : info.choices) add(std::string(choice));
  for (const bool flag : {false, true}) add(flag);
  for (const int number : {0, 1, 2, 3, 7, 64}) add(std::int64_t{number});
  for (const double number : {0.25, 0.5, 1.5}) add(number);
  if (info.may_be_auto) add(std::string("auto"));
  if (info.kind != SettingKind::text) return values;
  if (info.valid.known != nullptr)
    for (const KnownName& name : info.valid.known()) add(name.name);
  else if (info.name == "stop-at")
    add("test accuracy >= 0.01");
  else if (info.name == "leave-out")
    add("1");
  else
    add(info.valid.place == Place::none ? "train=mover 1" : file);
  return values;
}

}  // namespace fedstride::test

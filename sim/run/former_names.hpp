#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/setting.hpp"

namespace fedstride {

/// A key, or a value of it, that earlier versions called something else. Files, flags and Python may still use the former name for two
/// versions; folders always may.
struct FormerName {
  std::string_view key;
  std::string_view former;                                            ///< the same as `key` if only values changed
  std::vector<std::pair<std::string_view, std::string_view>> values;  ///< now, and before
  bool is_in_identities = true;  ///< identities of runs and keys of cells still have the former name
};
std::span<const FormerName> former_names();

/// Gives key and value their present names; true if the key had a former one.
bool bring_up_to_date(std::string& key, SettingValue& value);

/// The name of a key in identities.
std::string_view identity_name(std::string_view key);
/// Settings as write_settings wrote them, under the names that identities are made of.
std::string with_identity_names(std::string_view settings);

/// "'course' is now 'tolerance-schedule'; the former name is read until version 0.5"
std::string former_name_note(std::string_view former, std::string_view key);

}  // namespace fedstride

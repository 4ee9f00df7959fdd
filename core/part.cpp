#include "core/part.hpp"

#include <algorithm>
#include <atomic>
#include <set>

namespace fedstride {

const SettingInfo* Part::find(std::string_view setting) const {
  const auto all = settings();
  const auto found = std::ranges::find(all, setting, &SettingInfo::name);
  return found == all.end() ? nullptr : &*found;
}

void Part::set(const SettingInfo& setting, const SettingValue& value) { setting.assign(object(), value); }

void Part::check() const {
  for (const SettingInfo& setting : settings()) setting.check(get(setting));
}

std::vector<std::string> PartFamily::names() const {
  std::vector<std::string> names;
  for (const auto& part : parts_) names.emplace_back(part->name());
  return names;
}

namespace {

std::atomic<std::size_t> part_count = 0;

/// Throws Error (usage) if two settings share a name or a value is invalid.
void check_settings_of(const Part& part, const std::string& what) {
  std::set<std::string_view> settings;
  for (const SettingInfo& setting : part.settings())
    if (!settings.insert(setting.name).second)
      throw usage_error(what + " has two settings named '" + std::string(setting.name) + "'");
  part.check();
}

}  // namespace

void PartFamily::add(std::unique_ptr<Part> part) {
  const std::string what = std::string(key_) + " '" + std::string(part->name()) + "'";
  if (std::ranges::any_of(parts_, [&](const auto& other) { return other->name() == part->name(); }))
    throw usage_error(what + " already exists; each part of a family needs a unique name");
  check_settings_of(*part, what);
  parts_.push_back(std::move(part));
  ++part_count;
}

std::size_t registered_parts() { return part_count; }

std::unique_ptr<Part> PartFamily::make(std::string_view name) const {
  for (const auto& part : parts_)
    if (part->name() == name) return part->clone();
  throw usage_error(unknown_name(key_, name, names()));
}

}  // namespace fedstride

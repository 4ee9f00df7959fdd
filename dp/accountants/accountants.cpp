#include "dp/accountants/accountants.hpp"

#include <vector>

#include "core/family.hpp"

namespace fedstride {
namespace {

template <class Kind>
void set_word(Kind& accountant, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  std::vector<std::string> settings;
  for (const SettingInfo& setting : settings_of<Kind>()) {
    if (setting.name == name) {
      setting.assign(&accountant, value);
      return;
    }
    settings.emplace_back(setting.name);
  }
  throw usage_error(std::string(name) + " does not go with accountant '" + std::string(Kind::kName) + "'; " +
                    (settings.empty() ? "it has no settings" : "its settings: " + joined(settings)));
}

}  // namespace

Accountant make_accountant(const AccountantWords& words) {
  Accountant accountant;
  if (!words.name.empty()) accountant = make_part<Accountant>("accountant", words.name);
  std::visit(
      [&](auto& part) {
        set_word(part, "orders", words.orders);
        set_word(part, "conversion", words.conversion);
      },
      accountant);
  return accountant;
}

bool has_setting(std::string_view accountant, std::string_view setting) {
  bool found = false;
  for_each_part<Accountant>([&]<class Part>(const Part&) {
    for_each_field<Part>([&](const auto& field) { found = found || (Part::kName == accountant && field.name == setting); });
  });
  return found;
}

}  // namespace fedstride

#include "dp/accountants/accountants.hpp"

#include <type_traits>
#include <vector>

#include "core/family.hpp"

namespace fedstride {
namespace {

template <class Part>
void set_word(Part& part, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  bool found = false;
  std::vector<std::string> names;
  for_each_field<Part>([&](const auto& field) {
    names.emplace_back(field.name);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part.*field.member)>, std::string>) {
      if (field.name != name) return;
      check_field(field, value);
      part.*field.member = value;
      found = true;
    }
  });
  if (found) return;
  const std::string settings = names.empty() ? "it has no settings" : "its settings: " + joined(names);
  throw usage_error(std::string(name) + " does not go with accountant '" + std::string(Part::kName) + "'; " + settings);
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
    for_each_field<Part>([&](const auto& field) {
      found = found || (Part::kName == accountant && field.name == setting);
    });
  });
  return found;
}

}  // namespace fedstride

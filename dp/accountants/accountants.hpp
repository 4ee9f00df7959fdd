#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "dp/accountants/as_in_paper.hpp"
#include "dp/accountants/basic.hpp"
#include "dp/accountants/moments.hpp"
#include "dp/accountants/rdp.hpp"
#include "dp/accountants/strong.hpp"
#include "dp/accountants/tight.hpp"
#include "dp/accountants/zcdp.hpp"

namespace fedstride {

/// The registry of privacy accountants; the first is the default.
using Accountant = std::variant<Tight, Rdp, Moments, Zcdp, Strong, Basic, AsInPaper>;

static_assert(PrivacyAccountant<Tight> && PrivacyAccountant<Rdp> && PrivacyAccountant<Moments> && PrivacyAccountant<Zcdp> &&
              PrivacyAccountant<Strong> && PrivacyAccountant<Basic> && PrivacyAccountant<AsInPaper>);

/// An accountant in words, as flags and files have it. Empty words: the registry's first, the part's own defaults.
struct AccountantWords {
  std::string name = {};
  std::string conversion = {};  ///< the name of a Conversion
  std::string orders = {};      ///< the name of an OrderGrid
};
/// Throws Error (usage) for a word that is unknown, and for a setting that the accountant has not.
Accountant make_accountant(const AccountantWords& words);
/// True if the accountant has a setting of that name.
bool has_setting(std::string_view accountant, std::string_view setting);

/// The accountant's unsound(spending).
inline std::string unsound_by(const Accountant& accountant, std::span<const Releases> spending) {
  return std::visit([&](const auto& part) { return part.unsound(spending); }, accountant);
}
inline PrivacyBound epsilon_by(const Accountant& accountant, std::span<const Releases> spending, double delta) {
  return std::visit([&](const auto& part) { return part.epsilon(spending, delta); }, accountant);
}
inline PrivacyBound delta_by(const Accountant& accountant, std::span<const Releases> spending, double epsilon) {
  return std::visit([&](const auto& part) { return part.delta(spending, epsilon); }, accountant);
}

}  // namespace fedstride

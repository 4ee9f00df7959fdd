#pragma once

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

static_assert(PrivacyAccountant<Tight> && PrivacyAccountant<Rdp> && PrivacyAccountant<Moments> &&
              PrivacyAccountant<Zcdp> && PrivacyAccountant<Strong> && PrivacyAccountant<Basic> && PrivacyAccountant<AsInPaper>);

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

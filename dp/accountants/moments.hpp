#pragma once

#include "dp/accountants/rdp.hpp"

namespace fedstride {

/// The moments accountant of Abadi et al. 2016: lambda 1 to 32, that is orders 2 to 33, and their tail bound.
struct Moments {
  static constexpr std::string_view kName = "moments";
  static constexpr std::string_view kSummary = "moments accountant of Abadi et al. (2016): orders 2 to 33, classical";
  static constexpr auto kFields = std::tuple{};

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

}  // namespace fedstride

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// The true privacy loss distribution of Gaussian releases, Poisson-sampled or of every record, by a contour integral
/// of its moment generating function. Its values are upper bounds; docs/privacy.md has the argument.
struct Tight {
  static constexpr std::string_view kName = "tight";
  static constexpr std::string_view kSummary = "exact privacy loss distribution, rounded upwards by a hair";
  static constexpr auto kFields = std::tuple{};

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

}  // namespace fedstride

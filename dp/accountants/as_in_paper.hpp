#pragma once

#include <tuple>

#include "dp/accountants/accountant.hpp"

namespace fedstride {

/// The strong composition that Abadi et al. 2016 compare with (9.34 for q 0.01, sigma 4, 10,000 steps, delta 1e-5). NOT
/// a bound: it takes eps0 = sqrt(2 ln(1.25/delta0)) / sigma beyond epsilon 1 and q eps0 for amplification. Every value
/// comes with a warning that names what holds. For Poisson sampling (or everyone) under add-remove neighbours.
struct AsInPaper {
  static constexpr std::string_view kName = "as-in-paper";
  static constexpr std::string_view kSummary = "heuristic strong composition of Abadi et al. (2016); not a bound";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kEpsilonIsCheaper = true;  ///< delta() searches with epsilon()

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

/// eps1 sqrt(2 T ln(2/delta)) + T eps1^2, eps1 = q sqrt(2 ln(1.25/delta0)) / sigma, T q delta0 = delta/2.
double abadi_heuristic(std::span<const Releases> spending, double delta);
/// The same division of delta and eps0 (or the exact curve's, were it larger) with what is proven: eps1 = ln(1 + q
/// (exp(eps0) - 1)), T eps1 (exp(eps1) - 1) in place of T eps1^2. 26.78 in the paper's case.
double abadi_valid(std::span<const Releases> spending, double delta);

}  // namespace fedstride

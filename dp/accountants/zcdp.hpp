#pragma once

#include "core/family.hpp"
#include "dp/accountants/accountant.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

/// Concentrated differential privacy (Bun, Steinke 2016): a full Gaussian release, continuous or discrete (Canonne,
/// Kamath, Steinke 2020), is rho-zCDP with rho = (distance / standard deviation)^2 / 2; rho adds up.
struct Zcdp {
  static constexpr std::string_view kName = "zcdp";
  static constexpr std::string_view kSummary = "concentrated privacy, for releases of everyone; discrete noise too";

  Conversion conversion = Conversion::improved;

  static constexpr auto kFields = std::tuple{Field{"conversion", &Zcdp::conversion, "from rho to epsilon"}};

  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

double zcdp_rho(std::span<const Releases> spending);
/// rho + 2 sqrt(rho ln(1/delta)) (Bun, Steinke 2016, Proposition 1.3).
double zcdp_epsilon_classical(double rho, double delta);
/// The least over all real orders of the improved conversion (Canonne, Kamath, Steinke 2020, Proposition 12).
double zcdp_epsilon(double rho, double delta);
double zcdp_log_delta(double rho, double epsilon);  ///< rho > 0

}  // namespace fedstride

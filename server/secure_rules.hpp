#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/noise_share.hpp"
#include "core/client_report.hpp"
#include "core/random.hpp"
#include "secagg/grid.hpp"
#include "secagg/plan.hpp"

namespace fedstride {

/// Secure aggregation of a round's updates (docs/secure-aggregation.md).
struct SecureRules {
  bool masks = false;  ///< the protocol with all its roles; otherwise the arithmetic of its ring alone
  secagg::Grid grid = {};
  double dropouts = 0;   ///< share of a round's clients that may drop out
  double colluders = 0;  ///< share of them that may be on the coordinator's side
  int degree = 0;        ///< of the graph; 0: the least that will do
  double leaving = 0;    ///< probability that a simulated client drops out before each of its messages
  RandomSource draws{std::uint64_t{0}};
  secagg::Secret signing_keys = {};              ///< of which the simulated clients' are derived
  bool lengths = false;                          ///< the mean square length of the changes is wanted, and in the sum
  unsigned minimum = 0;                          ///< survivors; 0: all but the drop-outs
  std::shared_ptr<const NoiseShare> noise = {};  ///< that clients add, to what is then all that they send; null: none
  RandomSource own{std::uint64_t{0}};            ///< of the clients' noise

  /// Throws Error (usage) if rounds of so many clients cannot be borne.
  secagg::Plan plan(std::size_t clients) const;
  /// Session::settings.
  std::string session_settings() const;
};

}  // namespace fedstride

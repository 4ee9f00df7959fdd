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
  bool masks = false;  ///< the protocol with all its roles; otherwise only the arithmetic of its ring
  secagg::Grid grid = {};
  double dropouts = 0;   ///< share of a round's clients that may drop out
  double colluders = 0;  ///< share of them that may collude with the coordinator
  int degree = 0;        ///< of the graph; 0: the smallest that suffices
  double leaving = 0;    ///< probability that a simulated client drops out before each of its messages
  RandomSource draws{std::uint64_t{0}};
  secagg::Secret signing_keys = {};              ///< from which the simulated clients' keys are derived
  bool lengths = false;                          ///< the sum includes the mean square length of the changes
  unsigned minimum = 0;                          ///< minimum number of survivors; 0: all but the drop-outs
  std::shared_ptr<const NoiseShare> noise = {};  ///< added by clients to everything they then send; null: none
  RandomSource own{std::uint64_t{0}};            ///< of the clients' noise

  /// Throws Error (usage) if rounds of this many clients cannot be supported.
  secagg::Plan plan(std::size_t clients) const;
  /// Session::settings.
  std::string session_settings() const;
};

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/noise_share.hpp"
#include "core/client_report.hpp"
#include "core/random.hpp"
#include "core/setting.hpp"
#include "secagg/grid.hpp"
#include "secagg/plan.hpp"

namespace fedstride {

/// Secure aggregation of a round's updates (docs/secure-aggregation.md).
struct SecureRules {
  bool masks = false;  ///< true: the protocol with all its roles; false: only its arithmetic in a ring
  secagg::Grid grid = {};
  AutoNumber dropouts = {};   ///< share of a round's clients that may drop out
  AutoNumber colluders = {};  ///< share of a round's clients that may collude with the coordinator
  int degree = 0;             ///< number of neighbors in the graph; 0: the smallest that suffices
  double leaving = 0;         ///< probability that a simulated client drops out before each of its messages
  RandomSource draws{std::uint64_t{0}};
  secagg::Secret signing_keys = {};              ///< secret from which the simulated clients' keys are derived
  bool lengths = false;                          ///< the sum includes the changes' mean squared norm
  unsigned minimum = 0;                          ///< minimum number of survivors; 0: all clients but the share `dropouts`
  std::shared_ptr<const NoiseShare> noise = {};  ///< added by clients to everything they send; null: no noise
  RandomSource own{std::uint64_t{0}};            ///< source from which the clients' noise is drawn

  /// Drop-outs and colluders among this many clients: automatic shares are halved where no graph of the protocol holds them.
  secagg::Assumed assumed(std::size_t clients) const;
  /// Throws Error (usage) if rounds of this many clients cannot be supported.
  secagg::Plan plan(std::size_t clients) const;
  /// The text for Session::settings.
  std::string session_settings() const;
};

}  // namespace fedstride

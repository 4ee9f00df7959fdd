#pragma once

#include <cstddef>
#include <optional>

#include "client/noise_share.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"
#include "secagg/grid.hpp"
#include "server/secure_rules.hpp"
#include "sim/prepare/data_setup.hpp"

namespace fedstride {

/// Noise that clients add in shares, before its multiplier is known. Each share's variance is that of the noise on the sum,
/// (multiplier x bound)^2, divided by the number of shares that are certain to be in the sum and unknown to the coordinator.
struct SharePlan {
  NoiseLaw law = {};
  double bound = 0;           ///< maximum norm of a client's vector, including CentralRelease::beside
  std::size_t size = 0;       ///< length of that vector
  std::size_t clients = 0;    ///< maximum number of clients in a round
  std::size_t survivors = 0;  ///< minimum number of clients in a sum
  std::size_t colluders = 0;  ///< maximum number of clients whose shares the coordinator knows
  secagg::Grid grid = {};     ///< the grid as configured

  std::size_t shares() const { return survivors - colluders; }
  /// The grid for this noise multiplier: the configured one or, by default, 32 bits with steps of 1/8192 to 1/4096 of the
  /// deviation of a client's noise, but at least 2^-40, and coarser if 32 bits would not suffice.
  secagg::Grid grid_for(double noise_multiplier) const;
  /// One round in the accountant's terms.
  Releases release(double noise_multiplier, Neighbours neighbours) const;
  /// The noise of one client. Throws Error (usage), stating the value needed, if a sum could wrap, or if the grid is too coarse
  /// for the law, too fine to draw the noise, or cannot hold a clipped vector.
  NoiseShare share(double noise_multiplier) const;

 private:
  double deviation(double noise_multiplier) const;  ///< standard deviation of a share
};

/// The plan; empty unless clients add noise in shares. Throws Error (usage) if secure aggregation does not support this many
/// clients.
std::optional<SharePlan> plan_shares(const DataSetup& setup, const Model& model);

/// The parameters of secure aggregation in a configuration.
SecureRules secure_settings(const Configuration& configuration);
/// What the server needs from each client under client-level privacy, in addition to the mean of the clipped updates.
ReleasedBeside released_beside(const Configuration& configuration);

}  // namespace fedstride

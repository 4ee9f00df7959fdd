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

/// Noise that clients add in shares, before its multiplier is known: each share's variance is that of the sum, (multiplier x
/// bound)^2, divided by the number of shares that are certainly in the sum and known to no one else.
struct SharePlan {
  NoiseLaw law = {};
  double bound = 0;           ///< norm of a client's vector, including CentralRelease::beside
  std::size_t size = 0;       ///< its length
  std::size_t clients = 0;    ///< maximum number in a round
  std::size_t survivors = 0;  ///< minimum number in a sum
  std::size_t colluders = 0;  ///< maximum number whose shares the coordinator knows
  secagg::Grid grid = {};     ///< the given grid

  std::size_t shares() const { return survivors - colluders; }
  /// The grid for this noise multiplier: the given one, or 32 bits and a step from 1/8192 of a client's noise, longer if the bits
  /// require it.
  secagg::Grid grid_for(double noise_multiplier) const;
  /// One round in accountants' terms.
  Releases release(double noise_multiplier, Neighbours neighbours) const;
  /// Throws Error (usage), naming the needed value, if a sum could wrap, or if the grid is too coarse for the law, too fine for
  /// drawing, or cannot hold a clipped vector.
  NoiseShare share(double noise_multiplier) const;

 private:
  double deviation(double noise_multiplier) const;  ///< of a share
};

/// Empty unless clients add noise in shares. Throws Error (usage) if rounds of this many clients cannot be supported.
std::optional<SharePlan> plan_shares(const DataSetup& setup, const Model& model);

/// The parameters of secure aggregation in a configuration.
SecureRules secure_settings(const Configuration& configuration);
/// What the server needs from each client under client-level privacy, in addition to the mean of the clipped updates.
ReleasedBeside released_beside(const Configuration& configuration);

}  // namespace fedstride

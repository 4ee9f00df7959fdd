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

/// Noise that clients add in shares, before its multiplier is known: each share's variance is that of the sum, (multiplier x bound)^2,
/// divided by the number of shares that are certainly in the sum and known to nobody.
struct SharePlan {
  NoiseLaw law = {};
  double bound = 0;           ///< norm of what a client sends, with what CentralRelease::beside adds
  std::size_t size = 0;       ///< numbers of it
  std::size_t clients = 0;    ///< the most in a round
  std::size_t survivors = 0;  ///< the fewest in a sum
  std::size_t colluders = 0;  ///< the most whose shares the coordinator may know
  secagg::Grid grid = {};     ///< the given one

  std::size_t shares() const { return survivors - colluders; }
  /// The grid for this noise multiplier: the given one, or 32 bits and a step from 1/8192 of a client's noise, longer where the bits demand.
  secagg::Grid grid_for(double noise_multiplier) const;
  /// One round as accountants see it.
  Releases release(double noise_multiplier, Neighbours neighbours) const;
  /// Throws Error (usage), naming the value needed, if a sum could wrap, the grid is too coarse for the law or too fine to be drawn on,
  /// or does not hold a clipped vector.
  NoiseShare share(double noise_multiplier) const;

 private:
  double deviation(double noise_multiplier) const;  ///< of a share
};

/// Empty unless clients add noise in shares. Throws Error (usage) if rounds of so many clients cannot be borne.
std::optional<SharePlan> plan_shares(const DataSetup& setup, const Model& model);

/// The numbers of secure aggregation that a configuration sets.
SecureRules secure_settings(const Configuration& configuration);
/// What the server's side needs of each client under client-level privacy, besides the mean of the clipped updates.
ReleasedBeside released_beside(const Configuration& configuration);

}  // namespace fedstride

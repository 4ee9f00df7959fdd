#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/random.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

/// The noise of a run's releases, correlated between releases. Each round's sum is encoded, released on the grid like any other sum,
/// and decoded from what was released so far (MechanismPart). The draws have the same addresses as independent noise, so noise with
/// one band equals independent noise bit for bit. Draws for a mechanism's additional vectors of a round use their number as the step.
class CorrelatedNoise {
 public:
  /// Noise for sums with `size` components.
  CorrelatedNoise(Correlation correlation, std::size_t size);

  /// Adds the round's noise; the grid must be the same in every round. Throws Error (failure) unless the round directly follows the
  /// last round and is within the planned horizon.
  void add(ExactSum& sum, const NoiseGrid& grid, const RandomSource& source, std::uint32_t round,
           ForEachPiece for_each_piece = serially);

  std::uint32_t rounds() const { return rounds_; }  ///< completed rounds

  /// Converts the state to bytes and back. load throws Error (failure) if the bytes are not a valid state.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  Correlation correlation_;
  std::size_t size_;
  std::uint32_t rounds_ = 0;
  std::vector<std::vector<double>> encoded_;  ///< kept by encode(): of sums without noise
  std::vector<std::vector<double>> decoded_;  ///< kept by correlate(): of what was released
};

}  // namespace fedstride

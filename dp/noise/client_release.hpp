#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/random.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// A stretch of the flat parameter vector that is clipped separately.
struct ParameterRange {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// The L2 norm of a vector, in double; the same bits everywhere.
double l2_norm(std::span<const float> values);

/// Clips a client's update to the L2 norm S, so that its rounding in an ExactSum, to multiples of 2^-40, has a norm of at
/// most S too, all rounding errors included.
class UpdateClip {
 public:
  /// Flat without layers; otherwise each of the L layers is clipped to S / sqrt(L), and parameters in none of them are set
  /// to zero. Throws Error (usage) unless S is positive and finite; layers that overlap are a failure.
  explicit UpdateClip(double bound, std::vector<ParameterRange> layers = {});

  /// out = change, scaled down if it is too long; returns the norm before. Requires ExactSum::admits(change).
  double clip(std::span<const float> change, Vector& out) const;

  double bound() const { return bound_; }

 private:
  double bound_;
  std::vector<ParameterRange> layers_;
};

/// Sets to zero all values outside the ranges, which are in order: frozen parameters and the gaps between tensors.
void keep_only(std::span<const ParameterRange> ranges, Vector& vector);

/// Noise on a sum of client updates.
struct ClientNoise {
  double standard_deviation = 0;  ///< absolute, on the sum: noise multiplier x S
  bool discrete = false;          ///< exact discrete Gaussian on multiples of 2^-40; otherwise rounded to them
};

/// Adds an independent draw to each component of the sum, a function of source, address and component alone. Each 1,024
/// components have a row of the address (rows 0, 1, ...). Discrete: the deviation is rounded up to a multiple of 2^-40.
/// Throws Error (usage) unless the deviation is above 0 and at most 2^22.
void add_noise(ExactSum& sum, const ClientNoise& noise, const RandomSource& source, const Address& address,
               ForEachPiece for_each_piece = serially);

/// Client-level privacy with noise from the coordinator: every update is clipped before it is summed, the sum is noised
/// before anything reads it.
struct CentralRelease {
  UpdateClip clip;
  ClientNoise noise;
  std::vector<ParameterRange> trained;  ///< trainable parameters, in order; noise on frozen parameters is dropped
  RandomSource source;
};

}  // namespace fedstride

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/random.hpp"
#include "core/vector.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/bounds/bound.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

/// A range of the flat parameter vector that is clipped separately.
struct ParameterRange {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// The L2 norm of a vector, computed in double with the same bits on every machine.
double l2_norm(std::span<const float> values);

/// Clips a client's update so that its L2 norm is still at most S after rounding to multiples of 2^-40 in an ExactSum, all
/// rounding errors included. A rule may also scale shorter updates, except 0 (BoundPart::factor); the sum still differs between
/// neighbors by no more than with clipping.
class UpdateClip {
 public:
  /// Without layers, the whole vector is clipped at once; otherwise, each of the L layers is clipped to S / sqrt(L), and
  /// parameters outside all layers are set to zero. Throws Error (usage) unless S is positive and finite, and Error (failure) if
  /// layers overlap.
  explicit UpdateClip(double bound, std::vector<ParameterRange> layers = {}, Bound rule = {});

  /// Sets `out` to `change`, scaled by the rule (by default, only down, if the norm is too large); returns the original norm.
  /// Requires ExactSum::admits(change).
  double clip(std::span<const float> change, Vector& out) const;

  double bound() const { return bound_; }
  /// The same clip with another bound.
  UpdateClip with_bound(double bound) const { return UpdateClip(bound, layers_, rule_); }

 private:
  double bound_;
  Bound rule_;
  std::vector<ParameterRange> layers_;
};

/// Sets all values outside the ranges to zero (frozen parameters and gaps between tensors); the ranges must be in order.
void keep_only(std::span<const ParameterRange> ranges, Vector& vector);

/// Noise on a sum of client updates.
struct ClientNoise {
  NoiseGrid grid = {};      ///< its deviation is absolute, on the sum: above noise multiplier x S
  bool discrete = false;    ///< exact discrete Gaussian on multiples of 2^-40; otherwise Gaussian on the grid
  bool by_clients = false;  ///< already in the sum, added in shares
};

/// Noise is drawn and added in rows of kComponentsPerRow components. A piece of work is several rows.
inline constexpr std::size_t kComponentsPerRow = 1024;
inline constexpr std::size_t kRowsPerPiece = 8;
/// Throws Error (usage) unless the deviation is above 0 and at most 2^22.
void check_deviation(double deviation);
/// Calls body(first, size) for the rows of `size` components, in pieces.
void for_each_row_of(std::size_t size, ForEachPiece for_each_piece, function_ref<void(std::size_t, std::size_t)> body);

/// Rounds each component of the sum to the grid and adds an independent draw of noise to it; a draw depends only on source, address
/// and component. The result is stored as the nearest multiple of 2^-40. Discrete noise is added to the sum as it is, with its
/// deviation rounded up to a multiple of 2^-40, and each row at its own row of the address. Throws Error (usage) unless the
/// deviation is above 0 and at most 2^22.
void add_noise(ExactSum& sum, const ClientNoise& noise, const RandomSource& source, const Address& address,
               ForEachPiece for_each_piece = serially);

/// Up to three numbers that a client releases together with its clipped update D of norm at most S. The update becomes (D, a S (x
/// - 1/2), a S (w - 1/2)), where a = kShare, x = |D|^2 / S^2, and w = min(u / (2 V), 1). Here u is the client's pooled statistic,
/// and V is the server's expectation of u (core/pooled_statistic.hpp). Since x and w are in [0, 1], the update's norm is at most
/// S growth(), which replaces S in the noise; an excluded client contributes 0, the middle of the range. The third number is b S
/// / 2 if D's norm was at most S before clipping, -b S / 2 otherwise (BoundPart::counts).
struct ReleasedBeside {
  static constexpr double kShare = 0.2;
  bool square = false;     ///< x
  bool statistic = false;  ///< w
  double bit_share = 0;    ///< b; 0 if there is no such number

  /// Sets b so that noise with multiplier z growth() on the sum of all numbers has this deviation on the sum of bits of 1/2 or
  /// -1/2: b = z growth() / deviation. Throws Error (usage) unless z is below twice the deviation.
  void set_bit(double noise_multiplier, double deviation);
  std::size_t count() const {
    return static_cast<std::size_t>(square) + static_cast<std::size_t>(statistic) + static_cast<std::size_t>(bit_share > 0);
  }
  /// sqrt(1 + a^2 / 4 for each of x and w + b^2 / 4), rounded up by more than all rounding errors in computing the numbers.
  double growth() const;
  /// Appends a client's numbers to its clipped update. `ratio` is u / V, NaN if there is none; `within` is true if the update's
  /// norm was at most S before clipping.
  void append(Vector& clipped, double bound, double ratio, bool within = true) const;
  /// The means over the clients, from the last count() numbers of the mean update, which take_off() removes: x limited to [0, 1],
  /// w at least 0, the bit unchanged; 0 for numbers not released.
  struct Means {
    double square = 0;
    double statistic = 0;
    double bit = 0;
  };
  Means take_off(Vector& mean, double bound) const;
};

/// Client-level privacy with noise from the coordinator: every update is clipped before it is summed, and noise is added to the
/// sum before anything reads it.
struct CentralRelease {
  UpdateClip clip;
  ClientNoise noise;
  std::vector<ParameterRange> trained;  ///< trainable parameters, in order; noise on frozen parameters is dropped
  RandomSource source;
  ReleasedBeside beside = {};
  Correlation correlation = {};  ///< correlation of the noise of all rounds (dp/noise/correlated_noise.hpp)

  /// The largest bound that a round may have: noise proportional to it must stay in add_noise's range.
  double most_bound() const;
};

}  // namespace fedstride

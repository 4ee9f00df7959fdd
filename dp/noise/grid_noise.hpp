#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace fedstride {

// The noise of every Gaussian release, on a public grid (docs/reference/noise.md has the proof). A sum is rounded to a grid by
// itself, a whole number of grid steps with Gaussian law is added to it, and whatever is computed afterward reads only the result:
//   released = (round(sum / step) + N) x step,   N = round(G), G ~ N(0, (deviation / step)^2)
// Since round(s) + round(G) = round(round(s) + G) for whole numbers, this is the Gaussian mechanism applied to the rounded sum, then
// rounded: no bit of it depends on the sum in another way.

/// The grid of a release.
struct NoiseGrid {
  double deviation = 0;  ///< standard deviation of the noise, in the sum's unit
  unsigned bits = 0;     ///< a deviation is kStepsOfDeviation x 2^bits steps

  static constexpr double kStepsOfDeviation = 0x1p23;
  static constexpr unsigned kMostBits = 16;
  double step() const { return deviation / (kStepsOfDeviation * static_cast<double>(1U << bits)); }
};

/// The noise that releases `numbers` numbers with this noise multiplier, if their sum's L2 sensitivity is at most `sensitivity`.
/// Rounding two sums to the grid can move each number of their difference by two steps; this is added to the sensitivity, so the
/// deviation is slightly larger than noise_multiplier x sensitivity: by less than 0.1 % as long as noise_multiplier x
/// sqrt(numbers) is below 2^28. Throws Error (usage) if the grid would be too coarse for the noise to be proportional to it.
NoiseGrid noise_grid(double sensitivity, double noise_multiplier, double numbers);

/// By how much rounding in double precision can lengthen the difference of two sums of this many contributions of norm 1, added one
/// by one: the sensitivity of such a sum is 1 + this.
constexpr double accumulation_error(double contributions) { return contributions * (contributions + 1) * 0x1p-53; }

/// Sets out[i] to N(first + i), a whole number: the draws at the address of the Gaussian N(0, (kStepsOfDeviation x 2^bits)^2), each
/// rounded to a whole number. The law is exact up to a distance of 2^-64 a number, given uniform words. A number depends only on
/// source, address, bits and its index, and no two numbers share a word. Rows other than 0 of the address are used, too: use it for
/// nothing else. Throws Error (failure) unless its row is 0 and first + out.size() <= kMostNumbers.
void draw_grid_noise(const RandomSource& source, const Address& address, std::uint64_t first, unsigned bits,
                     std::span<double> out);
inline constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 31;

/// A sum as a whole number of steps. The largest numbers are clamped, which moves no two of them further apart.
inline double on_grid(double sum, double steps_per_unit) {
  constexpr double kMost = 0x1p50;     // above any sum, and far enough below what double rounds
  constexpr double kWhole = 0x1.8p52;  // a double of this size has no fraction
  const double steps = std::clamp(sum * steps_per_unit, -kMost, kMost);
  return (steps + kWhole) - kWhole;
}

/// released[i] = noisy sums[i] x factor. `Address` as in draw_grid_noise; sums[0] is number `first` of the release.
void release_on_grid(const NoiseGrid& grid, const RandomSource& source, const Address& address, std::uint64_t first,
                     std::span<const double> sums, double factor, std::span<float> released);
void release_on_grid(const NoiseGrid& grid, const RandomSource& source, const Address& address, std::uint64_t first,
                     std::span<const double> sums, double factor, std::span<double> released);

/// The tables from which the noise is drawn, for tests that compare its law with the Gaussian's.
/// A word's upper kSlotBits bits select a slot, whose cell is kCellWidth whole numbers wide; the other bits select one of them. A
/// cell's slots have at most the probability of its least likely number; what they leave over is drawn by rejection.
class GridLaw {
 public:
  static constexpr int kSlotBits = 14;
  static constexpr int kCellBits = 32 - kSlotBits;
  static constexpr int kCells = 432;  ///< on each side of 0: 13.5 deviations, beyond which lies less than 2^-134

  static const GridLaw& get();

  /// The cell of each slot; kRest for slots that go on to the rejection.
  static constexpr std::int8_t kRest = -128;
  const std::int8_t* slots() const { return slots_; }
  int slots_of(int cell) const;          ///< how many a cell has
  std::uint64_t weight(int cell) const;  ///< of 2^64, in the choice of the rejection's cell
  /// The probability of keeping a whole number (of 2^-bits steps) drawn uniformly in a cell, in double; accurate to kAccuracy.
  double kept(int cell, double number, unsigned bits) const;
  static constexpr double kAccuracy = 0x1p-34;
  /// An estimate of it, from where in its cell (from 0 to 1) the number lies, and by how much the estimate may be wrong.
  struct Rough {
    double kept = 0;
    double error = 0;
  };
  Rough roughly_kept(int cell, double where) const {
    const Line& line = lines_[cell + kCells];
    return {line.start + line.slope * where, line.error};
  }
  /// True if the probability of keeping it is above (most + least x 2^-64) x 2^-46, computed with 113 bits.
  bool keeps(int cell, double number, unsigned bits, std::uint64_t most, std::uint64_t least) const;
  /// The cell in which a uniform 64-bit number lies; kCells if in none.
  int cell_at(std::uint64_t at) const {
    int i = guide_[at >> (64 - kGuideBits)];
    while (i < 2 * kCells && ends_[i] <= at) ++i;
    return i - kCells;
  }

 private:
  GridLaw();
  static constexpr int kGuideBits = 12;
  struct Line {
    double start = 0;
    double slope = 0;
    double error = 0;
  };
  std::int8_t slots_[1 << kSlotBits];
  int counts_[2 * kCells];
  std::uint64_t ends_[2 * kCells];  ///< weights, added up
  std::int16_t guide_[1 << kGuideBits];
  Line lines_[2 * kCells];
  double scale_ = 0;  ///< of the weights
};

}  // namespace fedstride

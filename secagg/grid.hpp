#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/random.hpp"

namespace fedstride::secagg {

/// The grid to which updates are rounded before they are added modulo 2^bits: the multiples of `step`, a power of two, up to
/// `range` in magnitude. The default is the grid of the exact sum: multiples of 2^-40, modulo 2^128.
struct Grid {
  double range = 0;  ///< largest magnitude of a component; 0: as for the exact sum
  double step = 0x1p-40;
  unsigned bits = 128;

  bool is_exact() const { return range == 0; }
  /// Reads "RANGE,STEP,BITS", such as "1,2^-20,32"; empty text gives the default. Throws Error (usage).
  static Grid read(std::string_view text);

  /// Throws Error (usage), stating the bits needed, if the grid has too few bits for a sum with this total weight.
  void check(std::uint64_t total_weight) const;
  /// True if the vector is in range and may be rounded.
  bool admits(std::span<const float> values) const;
  /// out[i] = weight x round(values[i] / step), where round goes up or down at random without bias or, on the exact
  /// grid, to the nearest integer. `random` provides the draws.
  void round(std::span<const float> values, std::uint64_t weight, RandomStream random, std::span<__int128> out) const;
  /// log2 of the number of units of 2^-40 in a step.
  unsigned shift() const;
};

}  // namespace fedstride::secagg

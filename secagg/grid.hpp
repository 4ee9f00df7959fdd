#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/random.hpp"

namespace fedstride::secagg {

/// The multiples of a step, a power of two, up to a range, to which updates are rounded before being added modulo 2^bits. The
/// default is that of the exact sum: multiples of 2^-40 modulo 2^128.
struct Grid {
  double range = 0;  ///< largest magnitude of a component; 0: as for the exact sum
  double step = 0x1p-40;
  unsigned bits = 128;

  bool is_exact() const { return range == 0; }
  /// Reads "RANGE,STEP,BITS", such as "1,2^-20,32"; an empty text is the default. Throws Error (usage).
  static Grid read(std::string_view text);

  /// Throws Error (usage), naming the bits needed for the sum of clients with these total weights, if it has fewer.
  void check(std::uint64_t total_weight) const;
  /// True if a vector may be rounded.
  bool admits(std::span<const float> values) const;
  /// out[i] = weight x round(values[i] / step), rounded up or down with the probabilities that make the
  /// expectation exact; to the nearest on the exact grid. Draws are those at the address.
  void round(std::span<const float> values, std::uint64_t weight, RandomStream random, std::span<__int128> out) const;
  /// The units of 2^-40 in a step, as a shift.
  unsigned shift() const;
};

}  // namespace fedstride::secagg

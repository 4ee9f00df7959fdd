#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"

namespace fedstride {

// Draws the members of a lot or a cohort. An id's draw is word number `id` of the address's 64-bit words, regardless of other
// ids: adding a record changes no other record's draw. The address's row must be 0 and ids must be distinct. Drawn ids keep their
// order.

/// How much of the address's words decides about an id.
enum class DrawWidth {
  word,  ///< its 64-bit word, below rate x 2^64
  /// Byte number `id` of the address, below the rate's first 8 bits; if it is equal, also the first 64-bit word of row id + 1, below
  /// the rate's next 64 bits. Needs an eighth of the words.
  byte
};
/// Draws each id with probability `rate`, in [0, 1], rounded down to a multiple of 2^-64 or (byte) 2^-72.
void draw_poisson(const RandomSource& source, const Address& address, double rate, std::span<const std::uint32_t> ids,
                  std::vector<std::uint32_t>& drawn, DrawWidth width);

/// Draws the `count` ids with the smallest draws (ties: the smaller id); all of them if there are at most `count`.
void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count,
                              std::span<const std::uint32_t> ids, std::vector<std::uint32_t>& drawn);
/// The same among the ids 0 ... ids - 1, in memory for those drawn alone.
void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count, std::size_t ids,
                              std::vector<std::uint32_t>& drawn);

}  // namespace fedstride

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

/// Draws each id with probability `rate`, in [0, 1], rounded down to a multiple of 2^-64.
void draw_poisson(const RandomSource& source, const Address& address, double rate, std::span<const std::uint32_t> ids,
                  std::vector<std::uint32_t>& drawn);

/// Draws the `count` ids with the smallest draws (ties: the smaller id); all of them if there are at most `count`.
void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count,
                              std::span<const std::uint32_t> ids, std::vector<std::uint32_t>& drawn);

}  // namespace fedstride

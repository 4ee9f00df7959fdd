#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/compression/bits.hpp"

namespace fedstride {

/// The indices of the `count` numbers of largest magnitude, ascending; ties go to the smallest indices. Takes linear time.
std::vector<std::uint32_t> largest_places(std::span<const float> numbers, std::size_t count);

/// `count` = k indices below d are written as gaps in Golomb's code with b low bits each (Sattler et al. 2019, Section 4.2):
/// b = 1 + floor(log2(ln(phi - 1) / ln(1 - k / d))), at least 0. Nothing is written if all d indices are selected.
void put_places(BitWriter& bits, std::span<const std::uint32_t> places, std::size_t d);
/// The maximum number of bits that put_places writes.
std::uint64_t most_bits_of_places(std::size_t count, std::size_t d);
/// Reads `count` indices below d; returns nothing if the bits are invalid.
std::optional<std::vector<std::uint32_t>> take_places(BitReader& bits, std::size_t count, std::size_t d);

}  // namespace fedstride

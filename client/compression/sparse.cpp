#include "client/compression/sparse.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/elementary.hpp"

namespace fedstride {
namespace {

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF; }

/// The b of put_places().
int golomb_bits(std::size_t count, std::size_t d) {
  if (count == 0 || count >= d) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(d);
  const double ratio = portable::log(std::numbers::phi - 1) / portable::log(1 - share);
  return std::clamp(1 + std::ilogb(ratio), 0, 31);
}

}  // namespace

// Magnitudes sort like their bits, so three histograms, of 11, 10 and 10 bits, find the smallest magnitude kept.
std::vector<std::uint32_t> largest_places(std::span<const float> numbers, std::size_t count) {
  std::vector<std::uint32_t> places(count);
  if (count == numbers.size()) {
    std::iota(places.begin(), places.end(), 0U);
    return places;
  }
  if (count == 0) return places;
  std::uint32_t prefix = 0;
  std::size_t wanted = count;  // numbers still to be kept among those with this prefix
  int low = 31;
  for (const int width : {11, 10, 10}) {
    const int above = low;
    low -= width;
    std::vector<std::uint32_t> counts(std::size_t{1} << width);
    const std::uint32_t mask = (std::uint32_t{1} << width) - 1;
    for (const float number : numbers) {
      const std::uint32_t bits = magnitude(number);
      if (above == 31)
        ++counts[bits >> low];
      else
        counts[bits >> low & mask] += (bits >> above) == prefix;
    }
    std::uint32_t bin = mask;
    while (counts[bin] < wanted) wanted -= counts[bin--];
    prefix = prefix << width | bin;
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t bits = magnitude(numbers[i]);
    if (bits < prefix || (bits == prefix && wanted == 0)) continue;
    wanted -= bits == prefix;
    places[found++] = static_cast<std::uint32_t>(i);
  }
  return places;
}

void put_places(BitWriter& bits, std::span<const std::uint32_t> places, std::size_t d) {
  if (places.size() == d) return;
  const int low = golomb_bits(places.size(), d);
  std::uint32_t next = 0;
  for (const std::uint32_t place : places) {
    const std::uint32_t gap = place - next;
    bits.put_unary(gap >> low);
    bits.put(gap & ((std::uint32_t{1} << low) - 1), low);
    next = place + 1;
  }
}

std::uint64_t most_bits_of_places(std::size_t count, std::size_t d) {
  if (count == d) return 0;
  const int low = golomb_bits(count, d);
  return std::uint64_t{count} * (1 + static_cast<std::uint64_t>(low)) + ((d - count) >> low);
}

std::optional<std::vector<std::uint32_t>> take_places(BitReader& bits, std::size_t count, std::size_t d) {
  std::vector<std::uint32_t> places(count);
  if (count == d) {
    std::iota(places.begin(), places.end(), 0U);
    return places;
  }
  const int low = golomb_bits(count, d);
  std::uint64_t next = 0;
  for (std::uint32_t& place : places) {
    const std::uint64_t high = bits.take_unary((d - next) >> low);
    next += high << low | bits.take(low);
    if (next >= d) return std::nullopt;
    place = static_cast<std::uint32_t>(next++);
  }
  return places;
}

}  // namespace fedstride

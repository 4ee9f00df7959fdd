#include "dp/noise/sampling.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "core/kernels/words.hpp"

namespace fedstride {
namespace {

/// Calls take(first, draws) for batches in order; draws[i], a 64-bit word or a byte, belongs to ids[first + i].
template <class Draw, class Take>
void for_each_draw(const RandomSource& source, const Address& address, std::span<const std::uint32_t> ids, Take take) {
  const RandomStream stream = source.at(address);
  const auto counter = stream.counter();
  const auto short_key = stream.key();
  const BlockKey from{stream.is_secret() ? stream.secret_key().data() : short_key.data(), counter.data() + 1};
  const auto words_of = stream.is_secret() ? chacha_words : philox_words;
  constexpr bool kBytes = sizeof(Draw) == 1;
  const int shift =
      (stream.is_secret() ? 3 : 1) + (kBytes ? 3 : 0);  // two words or a byte per id, so 8 or 2 ids per block or 64 or 16
  const std::uint32_t mask = (1U << shift) - 1;

  // The buffer has the same number of words for ChaCha and Philox blocks.
  constexpr std::uint32_t kRow = kBlocksAtOnce;
  constexpr std::size_t kWords = 16 * kRow;
  const std::size_t words_per_block = stream.words_per_block();
  const std::size_t most_blocks = kWords / words_per_block;

  alignas(64) std::array<std::uint32_t, kWords> words;
  alignas(64) std::array<std::uint32_t, kWords / 4> blocks{};
  std::array<std::uint32_t, kWords / 2> places;  // positions of the lower words
  std::array<Draw, kWords / 2> draws;
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t used = 0;
    std::size_t count = 0;
    std::uint32_t last_block = 0;
    std::uint32_t place_of_block = 0;
    for (; count < places.size() && first + count < ids.size(); ++count) {
      const std::uint32_t id = ids[first + count];
      const std::uint32_t block = id >> shift;
      if (used == 0 || block != last_block) {  // ids that share a block are mostly adjacent
        if (used == most_blocks) break;
        place_of_block = static_cast<std::uint32_t>(used / kRow * kRow * words_per_block + used % kRow);
        last_block = block;
        blocks[used++] = block;
      }
      places[count] = place_of_block + (kBytes ? (id & mask) / 4 : (id & mask) * 2) * kRow;
    }
    words_of(from, blocks.data(), (used + kRow - 1) / kRow, words.data());
    for (std::size_t i = 0; i < count; ++i)
      if constexpr (kBytes)
        draws[i] = static_cast<Draw>(words[places[i]] >> (ids[first + i] % 4 * 8));
      else
        draws[i] = words[places[i]] | std::uint64_t{words[places[i] + kRow]} << 32;
    take(first, std::span<const Draw>(draws).first(count));
    first += count;
  }
}

}  // namespace

void draw_poisson(const RandomSource& source, const Address& address, double rate, std::span<const std::uint32_t> ids,
                  std::vector<std::uint32_t>& drawn, DrawWidth width) {
  assert(rate >= 0 && rate <= 1);
  if (rate >= 1) {
    drawn.assign(ids.begin(), ids.end());
    return;
  }
  drawn.clear();
  if (width == DrawWidth::word) {
    const auto threshold = static_cast<std::uint64_t>(std::floor(std::ldexp(rate, 64)));
    for_each_draw<std::uint64_t>(source, address, ids, [&](std::size_t first, std::span<const std::uint64_t> draws) {
      for (std::size_t i = 0; i < draws.size(); ++i)
        if (draws[i] < threshold) drawn.push_back(ids[first + i]);
    });
    return;
  }
  const double bytes = std::ldexp(rate, 8);
  const auto threshold = static_cast<std::uint8_t>(bytes);
  const auto further = static_cast<std::uint64_t>(std::floor(std::ldexp(bytes - threshold, 64)));
  const auto is_in = [&](std::uint32_t id) {
    Address own = address;
    own.row = id + 1;
    return source.at(own).bits64() < further;
  };
  for_each_draw<std::uint8_t>(source, address, ids, [&](std::size_t first, std::span<const std::uint8_t> draws) {
    for (std::size_t i = 0; i < draws.size(); ++i)
      if (draws[i] < threshold || (draws[i] == threshold && is_in(ids[first + i]))) drawn.push_back(ids[first + i]);
  });
}

void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count,
                              std::span<const std::uint32_t> ids, std::vector<std::uint32_t>& drawn) {
  if (count >= ids.size()) {
    drawn.assign(ids.begin(), ids.end());
    return;
  }
  drawn.clear();
  if (count == 0) return;
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  std::vector<Key> keys;
  const auto keep_to = [&](std::uint64_t limit) {
    keys.clear();
    for_each_draw<std::uint64_t>(source, address, ids, [&](std::size_t first, std::span<const std::uint64_t> draws) {
      for (std::size_t i = 0; i < draws.size(); ++i)
        if (draws[i] <= limit) keys.emplace_back(draws[i], ids[first + i]);
    });
  };
  // The smallest keys, of which a limit eight deviations above their expected number lets few others through, and hardly ever too few.
  const auto expected = static_cast<double>(count);
  const double share = (expected + 8 * std::sqrt(expected) + 8) / static_cast<double>(ids.size());
  if (share < 1) keep_to(static_cast<std::uint64_t>(std::ldexp(share, 64)));
  if (keys.size() < count) keep_to(std::numeric_limits<std::uint64_t>::max());
  std::vector<Key> ordered = keys;
  const auto last = ordered.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(ordered, last);
  for (const Key& key : keys)
    if (key <= *last) drawn.push_back(key.second);
}

}  // namespace fedstride

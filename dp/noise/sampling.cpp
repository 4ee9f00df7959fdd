#include "dp/noise/sampling.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/kernels/words.hpp"

namespace fedstride {
namespace {

/// The blocks at one address, many at a time.
class AddressBlocks {
 public:
  AddressBlocks(const RandomSource& source, const Address& address)
      : stream_(source.at(address)), counter_(stream_.counter()), short_key_(stream_.key()) {}
  bool is_secret() const { return stream_.is_secret(); }
  std::size_t words_per_block() const { return stream_.words_per_block(); }
  void words(const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words) const {
    const BlockKey from{is_secret() ? stream_.secret_key().data() : short_key_.data(), counter_.data() + 1};
    (is_secret() ? chacha_words : philox_words)(from, numbers, batches, words);
  }

 private:
  RandomStream stream_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> short_key_;
};

/// Calls take(first, draws) for batches in order; draws[i], a 64-bit word or a byte, belongs to ids[first + i].
template <class Draw, class Take>
void for_each_draw(const RandomSource& source, const Address& address, std::span<const std::uint32_t> ids, Take take) {
  const AddressBlocks stream(source, address);
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
    stream.words(blocks.data(), (used + kRow - 1) / kRow, words.data());
    for (std::size_t i = 0; i < count; ++i)
      if constexpr (kBytes)
        draws[i] = static_cast<Draw>(words[places[i]] >> (ids[first + i] % 4 * 8));
      else
        draws[i] = words[places[i]] | std::uint64_t{words[places[i] + kRow]} << 32;
    take(first, std::span<const Draw>(draws).first(count));
    first += count;
  }
}

/// Calls take(draw, id) for every id below `ids` whose draw is at most `limit`, in no order.
template <class Take>
void for_each_below(const RandomSource& source, const Address& address, std::size_t ids, std::uint64_t limit, Take take) {
  const AddressBlocks stream(source, address);
  const std::size_t in_block = stream.words_per_block() / 2;
  const auto most = static_cast<std::uint32_t>(limit >> 32);
  constexpr std::size_t kRow = kBlocksAtOnce, kBatches = 8;
  alignas(64) std::array<std::uint32_t, kBatches * kRow> blocks;
  alignas(64) std::array<std::uint32_t, kBatches * kRow * 16> words;
  std::iota(blocks.begin(), blocks.end(), 0U);
  for (std::size_t first = 0; first < ids; first += blocks.size() * in_block) {
    stream.words(blocks.data(), kBatches, words.data());
    for (std::size_t row = 0; row < kBatches * in_block; ++row) {
      const std::uint32_t *const low = words.data() + 2 * row * kRow, *const high = low + kRow;
      std::uint32_t least = high[0];
      for (std::size_t lane = 1; lane < kRow; ++lane) least = std::min(least, high[lane]);
      if (least > most) continue;  // nearly always
      for (std::size_t lane = 0; lane < kRow; ++lane) {
        const std::uint64_t draw = low[lane] | std::uint64_t{high[lane]} << 32;
        const std::size_t id = std::size_t{blocks[row / in_block * kRow + lane]} * in_block + row % in_block;
        if (draw <= limit && id < ids) take(draw, static_cast<std::uint32_t>(id));
      }
    }
    for (std::uint32_t& block : blocks) block += static_cast<std::uint32_t>(blocks.size());
  }
}

using Key = std::pair<std::uint64_t, std::uint32_t>;

/// Returns the `count` smallest keys, in the order in which for_each(limit, take) tells those up to a limit.
template <class ForEach>
std::vector<Key> smallest(std::size_t count, std::size_t ids, const ForEach& for_each) {
  std::vector<Key> keys;
  if (count == 0) return keys;
  const auto take = [&](std::uint64_t draw, std::uint32_t id) { keys.emplace_back(draw, id); };
  // A limit eight deviations above their expected number lets few others through, and hardly ever too few.
  const auto expected = static_cast<double>(count);
  const double share = (expected + 8 * std::sqrt(expected) + 8) / static_cast<double>(ids);
  if (share < 1) for_each(static_cast<std::uint64_t>(std::ldexp(share, 64)), take);
  if (keys.size() < count) {
    keys.clear();
    for_each(std::numeric_limits<std::uint64_t>::max(), take);
  }
  std::vector<Key> ordered = keys;
  const auto last = ordered.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(ordered, last);
  std::erase_if(keys, [last = *last](const Key& key) { return key > last; });
  return keys;
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
  const auto keys = smallest(count, ids.size(), [&](std::uint64_t limit, auto take) {
    for_each_draw<std::uint64_t>(source, address, ids, [&](std::size_t first, std::span<const std::uint64_t> draws) {
      for (std::size_t i = 0; i < draws.size(); ++i)
        if (draws[i] <= limit) take(draws[i], ids[first + i]);
    });
  });
  drawn.clear();
  for (const Key& key : keys) drawn.push_back(key.second);
}

void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count, std::size_t ids,
                              std::vector<std::uint32_t>& drawn) {
  if (count >= ids) {
    drawn.resize(ids);
    std::iota(drawn.begin(), drawn.end(), 0U);
    return;
  }
  const auto keys =
      smallest(count, ids, [&](std::uint64_t limit, auto take) { for_each_below(source, address, ids, limit, take); });
  drawn.clear();
  for (const Key& key : keys) drawn.push_back(key.second);
  std::ranges::sort(drawn);
}

}  // namespace fedstride

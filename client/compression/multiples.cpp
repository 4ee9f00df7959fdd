#include "client/compression/rounding.hpp"

#include <algorithm>

#include "core/kernels/blocks.hpp"

namespace fedstride {

std::uint32_t fold_multiples(std::span<const float> numbers, const std::array<std::uint32_t, Draws::kAtOnce>& words, float grid,
                             std::uint32_t* folded) {
  const Lanes most = broadcast(0x1.0p30F), distance = broadcast(grid);
  IntLanes all{};
  for (std::size_t i = 0; i < numbers.size(); i += kLanes) {
    const int count = static_cast<int>(std::min<std::size_t>(kLanes, numbers.size() - i));
    Lanes scaled = load_first(numbers.data() + i, count) / distance;
    scaled = scaled < -most ? -most : scaled;
    scaled = scaled > most ? most : scaled;
    IntLanes low = __builtin_convertvector(scaled, IntLanes);
    low += scaled < __builtin_convertvector(low, Lanes);
    const auto word = reinterpret_cast<IntLanes>(*reinterpret_cast<const UnalignedWordLanes*>(words.data() + i) >> 8);
    const Lanes drawn = __builtin_convertvector(word, Lanes) * 0x1.0p-24F;
    const IntLanes multiple = low - (drawn < scaled - __builtin_convertvector(low, Lanes));
    const IntLanes one = (multiple << 1) ^ (multiple >> 31);
    all |= one;
    if (count == kLanes) {
      *reinterpret_cast<UnalignedWordLanes*>(folded + i) = reinterpret_cast<WordLanes>(one);
      continue;
    }
    for (int lane = 0; lane < count; ++lane) folded[i + static_cast<std::size_t>(lane)] = static_cast<std::uint32_t>(one[lane]);
  }
  std::uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= static_cast<std::uint32_t>(all[lane]);
  return bits;
}

}  // namespace fedstride

#include "client/corrected_gradient.hpp"

#include <algorithm>

#include "core/simd.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kPiece = 2048;  // floats; a piece and all its inputs fit in the L1 cache

constexpr std::size_t kAhead = 512;  // prefetch distance in floats; if it were longer, data would leave the L1 cache before use

// `anchor` and `fixed` are read once per gradient, so they are prefetched without being kept in the caches.
template <bool kPull, bool kFixed>
void correct(float* __restrict out, const float* __restrict gradient, const float* __restrict at, const float* __restrict anchor,
             const float* __restrict fixed, std::size_t size, float pull) {
  const Lanes strength = broadcast(pull);
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Lanes value = load(gradient + i);
    if constexpr (kPull) {
      __builtin_prefetch(anchor + i + kAhead, 0, 0);
      value += strength * (load(at + i) - load(anchor + i));
    }
    if constexpr (kFixed) {
      __builtin_prefetch(fixed + i + kAhead, 0, 0);
      value += load(fixed + i);
    }
    store(out + i, value);
  }
  for (; i < size; ++i) {
    float value = gradient[i];
    if (kPull) value += pull * (at[i] - anchor[i]);
    if (kFixed) value += fixed[i];
    out[i] = value;
  }
}

using Correct = void (*)(float*, const float*, const float*, const float*, const float*, std::size_t, float);
constexpr Correct kCorrect[2][2] = {{correct<false, false>, correct<false, true>}, {correct<true, false>, correct<true, true>}};

// Calls act(from, to) for each part of [first, end) that lies in one of the sorted ranges.
void for_each_overlap(std::span<const ParameterRange> ranges, std::size_t first, std::size_t end, auto act) {
  auto range = std::ranges::upper_bound(ranges, first, {}, [](const ParameterRange& one) { return one.offset + one.size; });
  for (; range != ranges.end() && range->offset < end; ++range)
    act(std::max(first, range->offset), std::min(end, range->offset + range->size));
}

void add_decay(float* __restrict out, const float* __restrict at, std::size_t size, float decay) {
  for (std::size_t i = 0; i < size; ++i) out[i] += decay * at[i];
}

}  // namespace

double CorrectedGradient::emit(const float* at, std::size_t offset, std::span<const float> gradient, GradientSink sink) const {
  alignas(64) float piece[kPiece];
  const Correct correct_piece = kCorrect[pull != 0][fixed != nullptr];
  double sum = 0;
  for (std::size_t done = 0; done < gradient.size(); done += kPiece) {
    const std::size_t size = std::min(kPiece, gradient.size() - done);
    const std::size_t first = offset + done;
    correct_piece(piece, gradient.data() + done, at + first, anchor + first, fixed == nullptr ? nullptr : fixed + first, size,
                  pull);
    if (decay != 0)
      for_each_overlap(decayed, first, first + size,
                       [&](std::size_t from, std::size_t to) { add_decay(piece + (from - first), at + from, to - from, decay); });
    for_each_overlap(held, first, first + size,
                     [&](std::size_t from, std::size_t to) { std::fill(piece + (from - first), piece + (to - first), 0.0F); });
    sum += sink(first, {piece, size});
  }
  return sum;
}

}  // namespace fedstride

#include <algorithm>
#include <array>
#include <bit>

#include "core/simd.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

constexpr int kMaxVectors = kRegisters == 32 ? 20 : 12;  // vectors of a filter's gradient in registers
constexpr int kMaxRows = 5;                              // rows of a small filter, all at once
[[maybe_unused]] constexpr int kMaxPickedPlaces = 16;    // places of a pool's window whose shifts are picked from registers

/// kRows rows of the filter, `tail` weights in the last of kVectors vectors of each. Two sets of sums, for even and odd spots,
/// if one would wait for the processor's multiply-adds.
template <int kRows, int kVectors>
void filter_rows(const float* const* inputs, const SpotList* lists, int pictures, std::size_t offset, std::size_t pitch,
                 float* to, std::size_t to_stride, int tail) {
  constexpr int kSets = kRows * kVectors <= 4 ? 2 : 1;
  Lanes sum[kSets][kRows][kVectors] = {};
  load_tile(sum[0], to, to_stride, tail);
  for (int picture = 0; picture < pictures; ++picture) {
    const float* from = inputs[picture] + offset;
    const SpotList spots = lists[picture];
    const auto add = [&](int i, auto set) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes gradient = broadcast(spots.gradients[i]);
      const float* source = from + spots.sources[i];
      unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
        unrolled<kVectors>([&](auto v)
                               FEDSTRIDE_INLINE_LAMBDA { sum[set][r][v] += gradient * load(source + r * pitch + v * kLanes); });
      });
    };
    int i = 0;
    for (; i + kSets <= spots.count; i += kSets) unrolled<kSets>([&](auto set) FEDSTRIDE_INLINE_LAMBDA { add(i + set, set); });
    if (i < spots.count) add(i, std::integral_constant<int, 0>{});
  }
  if constexpr (kSets == 2)
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[0][r][v] += sum[1][r][v]; });
    });
  store_tile(sum[0], to, to_stride, tail);
}

using FilterRows = decltype(&filter_rows<1, 1>);

/// Null if the sums do not fit in the registers.
constexpr auto kFilterRows = tile_table<kMaxRows, kMaxVectors>([]<int kRows, int kVectors>() -> FilterRows {
  if constexpr (kRows * kVectors <= kMaxVectors || kRows == 1)
    return &filter_rows<kRows, kVectors>;
  else
    return nullptr;
});

float sum_of(const float* values, int count) {
  Lanes total{};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) total += load(values + i);
  if (i < count) total += load_first(values + i, count - i);
  return sum(total);
}

#if defined(__AVX512F__)

using Shifts = __m512i;
FEDSTRIDE_INLINE Shifts load_shifts(const std::uint32_t* shifts) { return _mm512_loadu_si512(shifts); }

/// The shifts that the next places' winners pick.
FEDSTRIDE_INLINE IntLanes picked(Shifts shifts, const std::uint8_t* winners) {
  const __m128i winner = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winners));
  return reinterpret_cast<IntLanes>(_mm512_maskz_permutexvar_epi32(0xFFFF, _mm512_maskz_cvtepu8_epi32(0xFFFF, winner), shifts));
}

/// The gradients; one whose source is also that of the spot `distance` places later is added to that one and zeroed here.
FEDSTRIDE_INLINE __m512 merged(__m512 gradients, __m512i sources, int distance) {
  const __m512i earlier = _mm512_sub_epi32(reinterpret_cast<__m512i>(lane_numbers()), _mm512_set1_epi32(distance));
  const auto exists = static_cast<__mmask16>(0xFFFFU << distance);
  const __m512i sources_before = _mm512_maskz_permutexvar_epi32(exists, earlier, sources);
  const unsigned equal = _mm512_mask_cmpeq_epi32_mask(exists, sources, sources_before);
  const auto same = static_cast<__mmask16>(equal & ~(equal << distance));  // of three in a row, the first two
  const __m512 gradients_before = _mm512_maskz_permutexvar_ps(same, earlier, gradients);
  return _mm512_maskz_add_ps(static_cast<__mmask16>(~(same >> distance)), gradients, gradients_before);
}

/// Appends the non-zeros among the gradients of neighboring places, `width` places per row, to a channel's list.
FEDSTRIDE_INLINE void append(Lanes gradients, IntLanes source, int width, std::uint32_t* sources_to, float* gradients_to,
                             int& count) {
  const auto sources = reinterpret_cast<__m512i>(source);
  __m512 here = merged(reinterpret_cast<__m512>(gradients), sources, 1);
  if (width < kLanes / 2) here = merged(here, sources, width);
  const auto kept = static_cast<__mmask16>(nonzero_lanes(reinterpret_cast<Lanes>(here)));
  _mm512_storeu_si512(sources_to + count, _mm512_maskz_compress_epi32(kept, sources));
  _mm512_storeu_ps(gradients_to + count, _mm512_maskz_compress_ps(kept, here));
  count += std::popcount(static_cast<unsigned>(kept));
}

#elif defined(__AVX2__)

struct Shifts {
  __m256i low;
  __m256i high;
};
FEDSTRIDE_INLINE Shifts load_shifts(const std::uint32_t* shifts) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(shifts)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(shifts + kLanes))};
}

/// The shifts that the next places' winners pick.
FEDSTRIDE_INLINE IntLanes picked(Shifts shifts, const std::uint8_t* winners) {
  const __m256i winner = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(winners)));
  const __m256i is_high = _mm256_cmpgt_epi32(winner, _mm256_set1_epi32(kLanes - 1));
  return reinterpret_cast<IntLanes>(_mm256_blendv_epi8(_mm256_permutevar8x32_epi32(shifts.low, winner),
                                                       _mm256_permutevar8x32_epi32(shifts.high, winner), is_high));
}

/// For every set of lanes, one bit each, the numbers of its lanes in order, one byte each.
constexpr auto kLanesOfSet = [] {
  std::array<std::uint64_t, 1 << kLanes> lanes{};
  for (unsigned set = 0; set < lanes.size(); ++set)
    for (unsigned lane = 0, at = 0; lane < kLanes; ++lane)
      if (set >> lane & 1U) lanes[set] |= std::uint64_t{lane} << (8 * at++);
  return lanes;
}();

FEDSTRIDE_INLINE __m256i lanes_of(unsigned set) {
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kLanesOfSet[set])));
}

/// Appends the non-zeros among the gradients of neighboring places to a channel's list; a gradient with the same source as the
/// previous one is added to it.
FEDSTRIDE_INLINE void append(Lanes gradients, IntLanes source, int /*width*/, std::uint32_t* sources_to, float* gradients_to,
                             int& count) {
  const auto here = reinterpret_cast<__m256>(gradients);
  const std::uint32_t found = nonzero_lanes(reinterpret_cast<Lanes>(here));
  const __m256i order = lanes_of(found);
  const __m256i sources = _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(source), order);
  const __m256 values = _mm256_permutevar8x32_ps(here, order);
  const int size = std::popcount(found);

  const __m256i last = _mm256_set1_epi32(count > 0 ? static_cast<int>(sources_to[count - 1]) : -1);
  const __m256i before =
      _mm256_blend_epi32(_mm256_permutevar8x32_epi32(sources, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)), last, 1);
  const __m256i equal = _mm256_and_si256(_mm256_cmpeq_epi32(sources, before), detail::first_lanes(size));
  const auto joins = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
  if ((joins & (joins << 1 | 1U)) != 0) [[unlikely]] {  // three in a row, or one already in the list
    alignas(32) std::uint32_t each_source[kLanes];
    alignas(32) float each_value[kLanes];
    _mm256_store_si256(reinterpret_cast<__m256i*>(each_source), sources);
    _mm256_store_ps(each_value, values);
    for (int i = 0; i < size; ++i) {
      if (joins >> i & 1U) {
        gradients_to[count - 1] += each_value[i];
      } else {
        sources_to[count] = each_source[i];
        gradients_to[count++] = each_value[i];
      }
    }
    return;
  }
  const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);  // the first is not joined here
  const __m256 joining =
      _mm256_and_ps(_mm256_permutevar8x32_ps(values, next), _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(equal, next)));
  const unsigned kept = ((1U << size) - 1) & ~joins;
  const __m256i last_order = lanes_of(kept);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sources_to + count), _mm256_permutevar8x32_epi32(sources, last_order));
  _mm256_storeu_ps(gradients_to + count, _mm256_permutevar8x32_ps(_mm256_add_ps(values, joining), last_order));
  count += std::popcount(kept);
}

#endif

#if defined(__AVX512F__) || defined(__AVX2__)
#define FEDSTRIDE_LISTS_IN_BLOCKS

/// The part of list_spots for kLanes places of kLanes channels: transposes places and channels, then appends to each channel's
/// list.
void list_block(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                Shifts shifts, std::size_t channels, std::size_t padded, int places, int width, int count,
                std::uint32_t* sources_to, float* gradients_to, std::size_t capacity, int* counts) {
  Lanes gradient[kLanes];
  Lanes source[kLanes];
  for (int j = 0; j < places; ++j) {
    gradient[j] = load_first(gradients + j * channels, count);
    if (values != nullptr) gradient[j] = load_first(values + j * channels, count) > Lanes{} ? gradient[j] : Lanes{};
    IntLanes from = broadcast(static_cast<std::int32_t>(bases[j]));
    if (winners != nullptr) from += picked(shifts, winners + j * padded);
    source[j] = reinterpret_cast<Lanes>(from);
  }
  for (int j = places; j < kLanes; ++j) gradient[j] = source[j] = Lanes{};
  transpose(gradient);
  transpose(source);
  for (int c = 0; c < count; ++c)
    append(gradient[c], reinterpret_cast<IntLanes>(source[c]), width, sources_to + c * capacity, gradients_to + c * capacity,
           counts[c]);
}

void list_blocks(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                 const std::uint32_t* shifts, std::size_t places, int width, std::size_t channels, const SpotStore& store) {
  const std::size_t padded = whole_lanes(channels);
  const Shifts table = load_shifts(shifts);
  std::fill_n(store.counts, channels, 0);
  for (std::size_t place = 0; place < places; place += kLanes) {
    for (std::size_t c = 0; c < channels; c += kLanes) {
      const std::size_t at = place * channels + c;
      list_block(gradients + at, values == nullptr ? nullptr : values + at, bases + place,
                 winners == nullptr ? nullptr : winners + place * padded + c, table, channels, padded,
                 static_cast<int>(std::min<std::size_t>(kLanes, places - place)), width,
                 static_cast<int>(std::min<std::size_t>(kLanes, channels - c)), store.sources + c * store.capacity,
                 store.gradients + c * store.capacity, store.capacity, store.counts + c);
    }
  }
}

#endif

void list_spots_one_by_one(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                           const std::uint32_t* shifts, std::size_t places, int channels, const SpotStore& store) {
  const std::size_t padded = whole_lanes(static_cast<std::size_t>(channels));
  std::fill_n(store.counts, channels, 0);
  for (std::size_t place = 0; place < places; ++place) {
    for (int c = 0; c < channels; ++c) {
      const std::size_t at = place * channels + c;
      if (gradients[at] == 0 || (values != nullptr && !(values[at] > 0))) continue;
      const std::uint32_t source = bases[place] + (winners == nullptr ? 0 : shifts[winners[place * padded + c]]);
      int& count = store.counts[c];
      const std::size_t to = c * store.capacity + static_cast<std::size_t>(count);
      if (count > 0 && store.sources[to - 1] == source) {
        store.gradients[to - 1] += gradients[at];
        continue;
      }
      store.sources[to] = source;
      store.gradients[to] = gradients[at];
      ++count;
    }
  }
}

}  // namespace

void list_spots(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                const std::uint32_t* shifts, [[maybe_unused]] int window_places, std::size_t places, [[maybe_unused]] int width,
                int channels, const SpotStore& store) {
#if defined(FEDSTRIDE_LISTS_IN_BLOCKS)
  if (window_places <= kMaxPickedPlaces) {
    list_blocks(gradients, values, bases, winners, shifts, places, width, static_cast<std::size_t>(channels), store);
    return;
  }
#endif
  list_spots_one_by_one(gradients, values, bases, winners, shifts, places, channels, store);
}

void conv_data_gradient(const ConvShape& shape, const SpotList& spots, const float* filter, float* input_gradient) {
  constexpr int kBlock = 6;  // vectors without a branch between them
  const int stretch = shape.stretch();
  const int kernel = shape.kernel;
  const std::size_t pitch = shape.pitch();
  for (int i = 0; i < spots.count; ++i) {
    const Lanes gradient = broadcast(spots.gradients[i]);
    const float* from = filter;
    float* to = input_gradient + spots.sources[i];
    for (int row = 0; row < kernel; ++row, from += stretch, to += pitch) {
      int k = 0;
      for (; k + kBlock * kLanes <= stretch; k += kBlock * kLanes)
        unrolled<kBlock>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
          store(to + k + v * kLanes, load(to + k + v * kLanes) + gradient * load(from + k + v * kLanes));
        });
      for (; k + kLanes <= stretch; k += kLanes) store(to + k, load(to + k) + gradient * load(from + k));
      if (k < stretch) {
        const int tail = stretch - k;
        store_first(to + k, load_first(to + k, tail) + gradient * load_first(from + k, tail), tail);
      }
    }
  }
}

float conv_filter_gradient(const ConvShape& shape, const float* const* inputs, const SpotList* lists, int pictures,
                           float* filter_gradient) {
  const int stretch = shape.stretch();
  const std::size_t pitch = shape.pitch();
  const auto last_vector = [](int width) { return width - (width - 1) / kLanes * kLanes; };
  const int vectors = (stretch + kLanes - 1) / kLanes;
  const FilterRows at_once =
      vectors <= kMaxVectors && shape.kernel <= kMaxRows ? kFilterRows[shape.kernel - 1][vectors - 1] : nullptr;
  if (at_once != nullptr) {
    at_once(inputs, lists, pictures, 0, pitch, filter_gradient, stretch, last_vector(stretch));
  } else {
    for (int row = 0; row < shape.kernel; ++row) {
      for (int k = 0; k < stretch; k += kMaxVectors * kLanes) {
        const int width = std::min(kMaxVectors * kLanes, stretch - k);
        kFilterRows[0][(width - 1) / kLanes](inputs, lists, pictures, row * pitch + k, pitch, filter_gradient + row * stretch + k,
                                             stretch, last_vector(width));
      }
    }
  }
  float total = 0;
  for (int picture = 0; picture < pictures; ++picture) total += sum_of(lists[picture].gradients, lists[picture].count);
  return total;
}

}  // namespace fedstride

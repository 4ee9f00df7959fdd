#include <algorithm>
#include <array>
#include <bit>

#include "core/simd.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

constexpr int kMaxVectors = kRegisters == 32 ? 20 : 12;  // vectors of a filter's gradient in registers
constexpr int kMaxRows = 5;                              // rows of a small filter, summed at once
constexpr int kMaxPickedPlaces = 16;                     // places of a pool's window whose shifts are selected from registers

/// Sums kRows rows of the filter's gradient, with `tail` weights in the last of each row's kVectors vectors. With two sets of
/// sums, even and odd spots are added separately.
template <int kSets, int kRows, int kVectors>
void filter_rows(const float* const* inputs, const SpotList* lists, int pictures, std::size_t offset, std::size_t pitch,
                 float* to, std::size_t to_stride, int tail) {
  Lanes sum[kSets][kRows][kVectors] = {};
  load_tile(sum[0], to, to_stride, tail);
  for (int picture = 0; picture < pictures; ++picture) {
    const float* from = inputs[picture] + offset;
    const SpotList spots = lists[picture];
    const auto add = [&](int i, auto set) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes gradient = broadcast(spots.gradients[i]);
      const float* source = from + spots.sources[i];
      unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
          sum[set][r][v] = fma(gradient, load(source + r * pitch + v * kLanes), sum[set][r][v]);
        });
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

using FilterRows = decltype(&filter_rows<1, 1, 1>);

/// Indexed by [rows - 1][vectors - 1]; null if the sums do not fit in the registers.
template <int kSets>
constexpr auto kFilterRows = tile_table<kMaxRows, kMaxVectors / kSets>([]<int kRows, int kVectors>() -> FilterRows {
  if constexpr (kSets * kRows * kVectors <= kMaxVectors || kRows == 1)
    return &filter_rows<kSets, kRows, kVectors>;
  else
    return nullptr;
});

/// Adds the filter's gradient: all rows at once if the sums fit in the registers, otherwise stretches of one row in turn, with
/// the same bits.
template <int kSets>
void add_filter_gradient(const ConvShape& shape, const float* const* inputs, const SpotList* lists, int pictures,
                         float* filter_gradient) {
  constexpr int kMost = kMaxVectors / kSets;
  const int stretch = shape.stretch();
  const std::size_t pitch = shape.pitch();
  const int vectors = (stretch + kLanes - 1) / kLanes;
  const int tail = stretch - (vectors - 1) * kLanes;
  const FilterRows at_once =
      vectors <= kMost && shape.kernel <= kMaxRows ? kFilterRows<kSets>[shape.kernel - 1][vectors - 1] : nullptr;
  if (at_once != nullptr) return at_once(inputs, lists, pictures, 0, pitch, filter_gradient, stretch, tail);
  for (int row = 0; row < shape.kernel; ++row)
    for_blocks(vectors, kMost, [&](int first, int count) {
      kFilterRows<kSets>[0][count - 1](inputs, lists, pictures, row * pitch + first * kLanes, pitch,
                                       filter_gradient + row * stretch + first * kLanes, stretch,
                                       first + count == vectors ? tail : kLanes);
    });
}

/// True if even and odd spots are added separately, since a single set of sums would wait for multiply-adds to finish. The choice
/// is the same on every processor, since it affects the bits.
bool adds_in_two_sets(const ConvShape& shape) {
  const int vectors = (shape.stretch() + kSumLanes - 1) / kSumLanes;
  return (shape.kernel <= kMaxRows ? shape.kernel : 1) * vectors <= 4;
}

float sum_of(const float* values, int count) {
  LaneSums total;
  for_sum_lanes(count, [&](auto part, int i, auto get) FEDSTRIDE_INLINE_LAMBDA { total.part[part] += get(values + i); });
  return sum(total);
}

// Spots are listed in blocks of kSpotBlock places: each block's non-zero gradients, after merging neighbors with the same source,
// which overlapping windows may have. Two lanes of a block are neighbors if they are 1 apart or, if a row of places is shorter
// than half a block, a row's width apart; of three in a row, the first two are merged. All processors do the same.
constexpr int kSpotBlock = 16;

#if defined(__AVX512F__)

using Shifts = __m512i;
FEDSTRIDE_INLINE Shifts load_shifts(const std::uint32_t* shifts) { return _mm512_loadu_si512(shifts); }

/// The shifts selected by the next places' winners.
FEDSTRIDE_INLINE IntLanes picked(Shifts shifts, const std::uint8_t* winners) {
  const __m128i winner = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winners));
  return reinterpret_cast<IntLanes>(_mm512_maskz_permutexvar_epi32(0xFFFF, _mm512_maskz_cvtepu8_epi32(0xFFFF, winner), shifts));
}

/// Returns the merged gradients: one with the same source as the spot `distance` places later is added to that spot's and zeroed.
FEDSTRIDE_INLINE __m512 merged(__m512 gradients, __m512i sources, int distance) {
  const __m512i earlier = _mm512_sub_epi32(reinterpret_cast<__m512i>(lane_numbers()), _mm512_set1_epi32(distance));
  const auto exists = static_cast<__mmask16>(0xFFFFU << distance);
  const __m512i sources_before = _mm512_maskz_permutexvar_epi32(exists, earlier, sources);
  const unsigned equal = _mm512_mask_cmpeq_epi32_mask(exists, sources, sources_before);
  const auto same = static_cast<__mmask16>(equal & ~(equal << distance));  // of three in a row, the first two
  const __m512 gradients_before = _mm512_maskz_permutexvar_ps(same, earlier, gradients);
  return _mm512_maskz_add_ps(static_cast<__mmask16>(~(same >> distance)), gradients, gradients_before);
}

/// Appends the non-zero ones among the gradients of neighboring places, `width` places per row, to a channel's list.
FEDSTRIDE_INLINE void append(Lanes gradients, IntLanes source, int width, std::uint32_t* sources_to, float* gradients_to,
                             int& count) {
  const auto sources = reinterpret_cast<__m512i>(source);
  __m512 here = merged(reinterpret_cast<__m512>(gradients), sources, 1);
  if (width < kSpotBlock / 2) here = merged(here, sources, width);
  const auto kept = static_cast<__mmask16>(nonzero_lanes(reinterpret_cast<Lanes>(here)));
  _mm512_storeu_si512(sources_to + count, _mm512_maskz_compress_epi32(kept, sources));
  _mm512_storeu_ps(gradients_to + count, _mm512_maskz_compress_ps(kept, here));
  count += std::popcount(static_cast<unsigned>(kept));
}

/// list_spots for kSpotBlock places of kLanes channels: transposes places and channels, then appends to each channel's list.
void list_block(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                const std::uint32_t* shifts, std::size_t channels, std::size_t padded, int places, int width, int count,
                std::uint32_t* sources_to, float* gradients_to, std::size_t capacity, int* counts) {
  const Shifts table = load_shifts(shifts);
  Lanes gradient[kLanes];
  Lanes source[kLanes];
  for (int j = 0; j < places; ++j) {
    gradient[j] = load_first(gradients + j * channels, count);
    if (values != nullptr) gradient[j] = load_first(values + j * channels, count) > Lanes{} ? gradient[j] : Lanes{};
    IntLanes from = broadcast(static_cast<std::int32_t>(bases[j]));
    if (winners != nullptr) from += picked(table, winners + j * padded);
    source[j] = reinterpret_cast<Lanes>(from);
  }
  for (int j = places; j < kLanes; ++j) gradient[j] = source[j] = Lanes{};
  transpose(gradient);
  transpose(source);
  for (int c = 0; c < count; ++c)
    append(gradient[c], reinterpret_cast<IntLanes>(source[c]), width, sources_to + c * capacity, gradients_to + c * capacity,
           counts[c]);
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

/// The shifts selected by the next places' winners.
FEDSTRIDE_INLINE IntLanes picked(Shifts shifts, const std::uint8_t* winners) {
  const __m256i winner = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(winners)));
  const __m256i is_high = _mm256_cmpgt_epi32(winner, _mm256_set1_epi32(kLanes - 1));
  return reinterpret_cast<IntLanes>(_mm256_blendv_epi8(_mm256_permutevar8x32_epi32(shifts.low, winner),
                                                       _mm256_permutevar8x32_epi32(shifts.high, winner), is_high));
}

/// For every set of lanes (one bit each), the numbers of its lanes in ascending order (one byte each).
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

/// A vector of kSpotBlock lanes.
struct Block {
  __m256i low;
  __m256i high;
};

/// The shuffles that move lanes by a distance below kLanes.
struct Move {
  __m256i from;
  __m256i crosses;  ///< lanes that come from the other half
};
Move up_by(int distance) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), apart = _mm256_set1_epi32(distance);
  return {_mm256_sub_epi32(numbers, apart), _mm256_cmpgt_epi32(apart, numbers)};
}
Move down_by(int distance) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), apart = _mm256_set1_epi32(distance);
  const __m256i from = _mm256_add_epi32(numbers, apart);
  return {from, _mm256_cmpgt_epi32(from, _mm256_set1_epi32(kLanes - 1))};
}

/// Lane i of the result is lane i - distance; the first lanes are zero.
FEDSTRIDE_INLINE Block up(const Block& block, const Move& move) {
  const __m256i low = _mm256_permutevar8x32_epi32(block.low, move.from);
  return {_mm256_andnot_si256(move.crosses, low),
          _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(block.high, move.from), low, move.crosses)};
}
/// Lane i of the result is lane i + distance; the last lanes are zero.
FEDSTRIDE_INLINE Block down(const Block& block, const Move& move) {
  const __m256i high = _mm256_permutevar8x32_epi32(block.high, move.from);
  return {_mm256_blendv_epi8(_mm256_permutevar8x32_epi32(block.low, move.from), high, move.crosses),
          _mm256_andnot_si256(move.crosses, high)};
}

/// Adds each gradient to the one `distance` places later if their sources are equal, and zeroes it.
FEDSTRIDE_INLINE void merge(Block& gradients, const Block& sources, int distance) {
  const Move move = up_by(distance);
  const Block before = up(sources, move);
  const Block equal{_mm256_andnot_si256(move.crosses, _mm256_cmpeq_epi32(sources.low, before.low)),
                    _mm256_cmpeq_epi32(sources.high, before.high)};
  const __m256i any = _mm256_or_si256(equal.low, equal.high);
  if (_mm256_testz_si256(any, any)) return;
  const Block chained = up(equal, move), added = up(gradients, move);
  const Block joins{_mm256_andnot_si256(chained.low, equal.low), _mm256_andnot_si256(chained.high, equal.high)};
  const Block gone = down(joins, down_by(distance));
  const auto sum = [](__m256i gradient, __m256i add, __m256i join, __m256i leave) FEDSTRIDE_INLINE_LAMBDA {
    const __m256 total = _mm256_add_ps(_mm256_castsi256_ps(gradient), _mm256_castsi256_ps(_mm256_and_si256(add, join)));
    return _mm256_andnot_si256(leave, _mm256_castps_si256(total));
  };
  gradients = {sum(gradients.low, added.low, joins.low, gone.low), sum(gradients.high, added.high, joins.high, gone.high)};
}

/// Appends the non-zero ones among kLanes gradients to a channel's list.
FEDSTRIDE_INLINE void append_half(__m256i gradients, __m256i sources, std::uint32_t* sources_to, float* gradients_to,
                                  int& count) {
  const std::uint32_t kept = nonzero_lanes(reinterpret_cast<Lanes>(gradients));
  const __m256i order = lanes_of(kept);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sources_to + count), _mm256_permutevar8x32_epi32(sources, order));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(gradients_to + count), _mm256_permutevar8x32_epi32(gradients, order));
  count += std::popcount(kept);
}

/// list_spots for kSpotBlock places of kLanes channels: transposes places and channels, then appends to each channel's list.
void list_block(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                const std::uint32_t* shifts, std::size_t channels, std::size_t padded, int places, int width, int count,
                std::uint32_t* sources_to, float* gradients_to, std::size_t capacity, int* counts) {
  const Shifts table = load_shifts(shifts);
  Lanes gradient[2][kLanes];
  Lanes source[2][kLanes];
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kLanes; ++i) {
      const int j = half * kLanes + i;
      if (j >= places) {
        gradient[half][i] = source[half][i] = Lanes{};
        continue;
      }
      gradient[half][i] = load_first(gradients + j * channels, count);
      if (values != nullptr) gradient[half][i] = load_first(values + j * channels, count) > Lanes{} ? gradient[half][i] : Lanes{};
      IntLanes from = broadcast(static_cast<std::int32_t>(bases[j]));
      if (winners != nullptr) from += picked(table, winners + j * padded);
      source[half][i] = reinterpret_cast<Lanes>(from);
    }
    transpose(gradient[half]);
    transpose(source[half]);
  }
  for (int c = 0; c < count; ++c, sources_to += capacity, gradients_to += capacity) {
    Block here{reinterpret_cast<__m256i>(gradient[0][c]), reinterpret_cast<__m256i>(gradient[1][c])};
    const Block sources{reinterpret_cast<__m256i>(source[0][c]), reinterpret_cast<__m256i>(source[1][c])};
    merge(here, sources, 1);
    if (width < kSpotBlock / 2) merge(here, sources, width);
    append_half(here.low, sources.low, sources_to, gradients_to, counts[c]);
    append_half(here.high, sources.high, sources_to, gradients_to, counts[c]);
  }
}

#else

/// Adds each gradient to the one `distance` places later if their sources are equal, and zeroes it.
void merge(float* gradients, const std::uint32_t* sources, int distance) {
  const auto equal = [&](int i) { return i >= distance && sources[i] == sources[i - distance]; };
  for (int i = kSpotBlock; i-- > distance;) {  // backward, so each lane adds a value not yet changed
    if (!equal(i) || equal(i - distance)) continue;
    gradients[i] += gradients[i - distance];
    gradients[i - distance] = 0;
  }
}

/// list_spots for kSpotBlock places of kLanes channels.
void list_block(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                const std::uint32_t* shifts, std::size_t channels, std::size_t padded, int places, int width, int count,
                std::uint32_t* sources_to, float* gradients_to, std::size_t capacity, int* counts) {
  for (int c = 0; c < count; ++c, sources_to += capacity, gradients_to += capacity) {
    float here[kSpotBlock] = {};
    std::uint32_t sources[kSpotBlock] = {};
    for (int j = 0; j < places; ++j) {
      here[j] = values != nullptr && !(values[j * channels + c] > 0) ? 0.0F : gradients[j * channels + c];
      sources[j] = bases[j] + (winners == nullptr ? 0 : shifts[winners[j * padded + c]]);
    }
    merge(here, sources, 1);
    if (width < kSpotBlock / 2) merge(here, sources, width);
    for (int j = 0; j < kSpotBlock; ++j) {
      sources_to[counts[c]] = sources[j];
      gradients_to[counts[c]] = here[j];
      counts[c] += here[j] != 0 ? 1 : 0;  // counts NaN, too
    }
  }
}

#endif

void list_blocks(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                 const std::uint32_t* shifts, std::size_t places, int width, std::size_t channels, const SpotStore& store) {
  const std::size_t padded = whole_lanes(channels);
  std::fill_n(store.counts, channels, 0);
  for (std::size_t place = 0; place < places; place += kSpotBlock) {
    for (std::size_t c = 0; c < channels; c += kLanes) {
      const std::size_t at = place * channels + c;
      list_block(gradients + at, values == nullptr ? nullptr : values + at, bases + place,
                 winners == nullptr ? nullptr : winners + place * padded + c, shifts, channels, padded,
                 static_cast<int>(std::min<std::size_t>(kSpotBlock, places - place)), width,
                 static_cast<int>(std::min<std::size_t>(kLanes, channels - c)), store.sources + c * store.capacity,
                 store.gradients + c * store.capacity, store.capacity, store.counts + c);
    }
  }
}

/// list_spots for windows of more than kMaxPickedPlaces places; adds a gradient to the previous spot's if their sources are
/// equal.
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
                const std::uint32_t* shifts, int window_places, std::size_t places, int width, int channels,
                const SpotStore& store) {
  if (window_places <= kMaxPickedPlaces)
    list_blocks(gradients, values, bases, winners, shifts, places, width, static_cast<std::size_t>(channels), store);
  else
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
          store(to + k + v * kLanes, fma(gradient, load(from + k + v * kLanes), load(to + k + v * kLanes)));
        });
      for (; k + kLanes <= stretch; k += kLanes) store(to + k, fma(gradient, load(from + k), load(to + k)));
      if (k < stretch) {
        const int tail = stretch - k;
        store_first(to + k, fma(gradient, load_first(from + k, tail), load_first(to + k, tail)), tail);
      }
    }
  }
}

float conv_filter_gradient(const ConvShape& shape, const float* const* inputs, const SpotList* lists, int pictures,
                           float* filter_gradient) {
  const auto add = adds_in_two_sets(shape) ? &add_filter_gradient<2> : &add_filter_gradient<1>;
  add(shape, inputs, lists, pictures, filter_gradient);
  float total = 0;
  for (int picture = 0; picture < pictures; ++picture) total += sum_of(lists[picture].gradients, lists[picture].count);
  return total;
}

}  // namespace fedstride

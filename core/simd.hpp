#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace fedstride {

// Lanes holds the floats that fit in a vector register, using the compiler's vector extension: +, *, < and ?: work lane by lane.
//
// Results depend neither on the register width nor on the compiler: only fma() is fused (-ffp-contract=off), and sums along a
// vector use kSumLanes lanes, in as many registers as they need.

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
inline constexpr int kRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
inline constexpr int kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kLanes = 4;
inline constexpr int kRegisters = 32;
#else
inline constexpr int kLanes = 4;
inline constexpr int kRegisters = 16;
#endif

/// In sums along a vector, element i goes to lane i % kSumLanes on every processor. An AVX-512 register has exactly
/// this many lanes.
inline constexpr int kSumLanes = 16;
/// The number of registers that these lanes occupy.
inline constexpr int kSumParts = kSumLanes / kLanes;

/// True if fma() rounds once. Without a fused instruction (x86-64 before 2013), it rounds twice, and results differ.
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool kFused = true;
#else
inline constexpr bool kFused = false;
#endif

typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t IntLanes __attribute__((vector_size(kLanes * 4)));
typedef std::uint8_t ByteLanes __attribute__((vector_size(kLanes)));
typedef float UnalignedLanes __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef std::uint8_t UnalignedByteLanes __attribute__((vector_size(kLanes), aligned(1), may_alias));

#define FEDSTRIDE_INLINE inline __attribute__((always_inline))
#define FEDSTRIDE_INLINE_LAMBDA __attribute__((always_inline))

/// Calls body(0) ... body(kCount - 1) with compile-time numbers, so arrays of vectors indexed by them stay in registers. The body
/// must be a lambda marked FEDSTRIDE_INLINE_LAMBDA.
template <int kCount, class Body>
FEDSTRIDE_INLINE void unrolled(Body&& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) FEDSTRIDE_INLINE_LAMBDA {
    (body(std::integral_constant<int, kIndex>{}), ...);
  }
  (std::make_integer_sequence<int, kCount>{});
}

/// `count`, rounded up to a whole number of vectors.
constexpr std::size_t whole_lanes(std::size_t count) {
  constexpr auto lanes = static_cast<std::size_t>(kLanes);
  return (count + lanes - 1) / lanes * lanes;
}

FEDSTRIDE_INLINE Lanes load(const float* from) { return *reinterpret_cast<const UnalignedLanes*>(from); }
FEDSTRIDE_INLINE void store(float* to, Lanes value) { *reinterpret_cast<UnalignedLanes*>(to) = value; }
FEDSTRIDE_INLINE Lanes broadcast(float value) { return value - Lanes{}; }
FEDSTRIDE_INLINE IntLanes broadcast(std::int32_t value) { return value - IntLanes{}; }

/// a * b + c, rounded once if kFused.
FEDSTRIDE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__AVX__) && defined(__FMA__)
  return reinterpret_cast<Lanes>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#elif defined(__aarch64__)
  return reinterpret_cast<Lanes>(
      vfmaq_f32(reinterpret_cast<float32x4_t>(c), reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a * b + c;
#endif
}
FEDSTRIDE_INLINE Lanes fma(Lanes a, Lanes b, float c) { return fma(a, b, broadcast(c)); }
FEDSTRIDE_INLINE Lanes fma(Lanes a, float b, Lanes c) { return fma(a, broadcast(b), c); }
FEDSTRIDE_INLINE Lanes fma(Lanes a, float b, float c) { return fma(a, broadcast(b), broadcast(c)); }
FEDSTRIDE_INLINE float fma(float a, float b, float c) { return kFused ? __builtin_fmaf(a, b, c) : a * b + c; }
FEDSTRIDE_INLINE double fma(double a, double b, double c) { return kFused ? __builtin_fma(a, b, c) : a * b + c; }

/// Forces a vector into a register; otherwise, the compiler would reload it at each use.
template <class Vector>
FEDSTRIDE_INLINE Vector in_register(Vector value) {
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#elif defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
  return value;
}

/// 0, 1, 2, ...
FEDSTRIDE_INLINE IntLanes lane_numbers() {
  IntLanes numbers{};
  for (int i = 0; i < kLanes; ++i) numbers[i] = i;
  return numbers;
}

#if defined(__AVX__) && !defined(__AVX512F__)
namespace detail {

alignas(64) inline constexpr std::int32_t kFirstLanes[2 * kLanes] = {-1, -1, -1, -1, -1, -1, -1, -1};

/// A mask of the first `count` lanes, with all their bits set.
FEDSTRIDE_INLINE __m256i first_lanes(int count) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kFirstLanes + kLanes - count));
}

}  // namespace detail
#endif

/// Loads the first `count` lanes (at most kLanes) and zeros the rest; memory beyond them is not accessed.
FEDSTRIDE_INLINE Lanes load_first(const float* from, int count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1U), from));
#elif defined(__AVX__)
  return reinterpret_cast<Lanes>(_mm256_maskload_ps(from, detail::first_lanes(count)));
#else
  Lanes value{};
  for (int i = 0; i < kLanes; ++i)
    if (i < count) value[i] = from[i];
  return value;
#endif
}

FEDSTRIDE_INLINE void store_first(float* to, Lanes value, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1U), reinterpret_cast<__m512>(value));
#elif defined(__AVX__)
  _mm256_maskstore_ps(to, detail::first_lanes(count), reinterpret_cast<__m256>(value));
#else
  for (int i = 0; i < kLanes; ++i)
    if (i < count) to[i] = value[i];
#endif
}

/// Stores a vector without using the caches, for data that is read much later; `to` must be aligned to a vector. Other threads
/// see the data after this thread's next atomic read-modify-write, which happens at the end of every task.
FEDSTRIDE_INLINE void store_past_caches(float* to, Lanes value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
#elif defined(__AVX__)
  _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#elif defined(__SSE__)
  _mm_stream_ps(to, reinterpret_cast<__m128>(value));
#else
  store(to, value);
#endif
}

/// Prefetches a line of memory that will be read soon; any address is allowed.
FEDSTRIDE_INLINE void prefetch(const float* from) { __builtin_prefetch(from, 0, 2); }

FEDSTRIDE_INLINE Lanes positive(Lanes a) { return a > Lanes{} ? a : Lanes{}; }

/// Returns a mask with bit i set if lane i differs from zero (as NaN does).
FEDSTRIDE_INLINE std::uint32_t nonzero_lanes(Lanes value) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(value), _mm512_setzero_ps(), _CMP_NEQ_UQ);
#elif defined(__AVX__)
  return static_cast<std::uint32_t>(
      _mm256_movemask_ps(_mm256_cmp_ps(reinterpret_cast<__m256>(value), _mm256_setzero_ps(), _CMP_NEQ_UQ)));
#else
  std::uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= static_cast<std::uint32_t>(value[i] != 0.0F) << i;
  return bits;
#endif
}

namespace detail {

template <int kStep, bool kUpper, int... kLane>
FEDSTRIDE_INLINE Lanes exchange(Lanes a, Lanes b, std::integer_sequence<int, kLane...>) {
  if constexpr (kUpper)
    return __builtin_shufflevector(a, b, ((kLane & kStep) ? kLanes + kLane : kLane + kStep)...);
  else
    return __builtin_shufflevector(a, b, ((kLane & kStep) ? kLanes + kLane - kStep : kLane)...);
}

/// The lower and the upper row of the pair (a, b), after transposing 2 x 2 blocks of kStep lanes each.
template <int kStep>
FEDSTRIDE_INLINE Lanes lower(Lanes a, Lanes b) {
  return exchange<kStep, false>(a, b, std::make_integer_sequence<int, kLanes>{});
}
template <int kStep>
FEDSTRIDE_INLINE Lanes upper(Lanes a, Lanes b) {
  return exchange<kStep, true>(a, b, std::make_integer_sequence<int, kLanes>{});
}

template <int kStep>
FEDSTRIDE_INLINE void transpose_steps(Lanes (&rows)[kLanes]) {
  if constexpr (kStep < kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & kStep) continue;
      const Lanes a = rows[i];
      const Lanes b = rows[i + kStep];
      rows[i] = lower<kStep>(a, b);
      rows[i + kStep] = upper<kStep>(a, b);
    }
    transpose_steps<kStep * 2>(rows);
  }
}

}  // namespace detail

/// Exchanges rows[i][j] and rows[j][i].
FEDSTRIDE_INLINE void transpose(Lanes (&rows)[kLanes]) { detail::transpose_steps<1>(rows); }

namespace detail {

/// The lanes in bit-reversed order.
template <int... kLane>
FEDSTRIDE_INLINE Lanes bits_reversed(Lanes a, std::integer_sequence<int, kLane...>) {
  constexpr auto reversed = [](int lane) {
    int result = 0;
    for (int bit = 1; bit < kLanes; bit *= 2) result = 2 * result + ((lane & bit) != 0 ? 1 : 0);
    return result;
  };
  return __builtin_shufflevector(a, a, reversed(kLane)...);
}

}  // namespace detail

/// Sets lane i % kLanes of packed[i / kLanes] to the sum of the lanes of rows[i], adding halves first; overwrites the rows.
template <int kRows, int kStep = kLanes / 2>
FEDSTRIDE_INLINE void packed_sums(Lanes* rows, Lanes* packed) {
  if constexpr (kStep == 0) {
    unrolled<kRows>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      packed[i] = detail::bits_reversed(rows[i], std::make_integer_sequence<int, kLanes>{});
    });
  } else {
    unrolled<kRows / 2>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      rows[i] = detail::lower<kStep>(rows[2 * i], rows[2 * i + 1]) + detail::upper<kStep>(rows[2 * i], rows[2 * i + 1]);
    });
    if constexpr (kRows % 2 != 0)
      rows[kRows / 2] = detail::lower<kStep>(rows[kRows - 1], Lanes{}) + detail::upper<kStep>(rows[kRows - 1], Lanes{});
    packed_sums<(kRows + 1) / 2, kStep / 2>(rows, packed);
  }
}

/// The kSumLanes lanes of a sum; lane i is lane i % kLanes of part[i / kLanes].
struct LaneSums {
  Lanes part[kSumParts] = {};
};

/// Divides `count` floats into groups of kSumLanes and calls body(part, i, get) for every part of each group, where i is the
/// index of the part's first float. get(from) loads the floats that exist and zeros for the rest.
template <class Count, class Body>
FEDSTRIDE_INLINE void for_sum_lanes(Count count, Body&& body) {
  Count i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes)
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      body(part, i + part * kLanes, [](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load(from); });
    });
  if (i < count)
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      const int left = static_cast<int>(count - i) - part * kLanes;
      const int some = left < 0 ? 0 : left > kLanes ? kLanes : left;
      body(part, i + part * kLanes, [=](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load_first(from, some); });
    });
}

/// Adds up the lanes: i and i + 8, then i and i + 4, ...
FEDSTRIDE_INLINE float sum(LaneSums sums) {
  for (int step = kSumParts / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) sums.part[i] += sums.part[i + step];
  Lanes value = sums.part[0];
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) value[i] += value[i + step];
  return value[0];
}

/// packed_sums for rows of kSumLanes lanes: part p of row i is sums[p][i]. Overwrites the sums.
template <int kRows>
FEDSTRIDE_INLINE void packed_sums(Lanes (&sums)[kSumParts][kRows], Lanes* packed) {
  unrolled<kRows>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
    if constexpr (kSumParts == 2) sums[0][i] += sums[1][i];
    if constexpr (kSumParts == 4) sums[0][i] = (sums[0][i] + sums[2][i]) + (sums[1][i] + sums[3][i]);
  });
  packed_sums<kRows>(sums[0], packed);
}

/// e^x within 1 unit in the last place for x <= 88, e^88 above, 0 below -87.3.
FEDSTRIDE_INLINE Lanes exp(Lanes x) {
  const Lanes least = broadcast(-87.3F);
  const Lanes most = broadcast(88.0F);
  const IntLanes vanishes = x < least;
  x = x > most ? most : x;
  x = x < least ? least : x;
  const Lanes rounder = broadcast(12582912.0F);  // 1.5 * 2^23: adding it rounds to a whole number
  const Lanes shifted = fma(x, 1.44269504088896341F, rounder);
  const Lanes n = shifted - rounder;
  const Lanes r = fma(n, 2.12194440e-4F, fma(n, -0.693359375F, x));
  Lanes p = broadcast(1.9875691500e-4F);  // (e^r - 1 - r) / r^2
  p = fma(p, r, 1.3981999507e-3F);
  p = fma(p, r, 8.3334519073e-3F);
  p = fma(p, r, 4.1665795894e-2F);
  p = fma(p, r, 1.6666665459e-1F);
  p = fma(p, r, 5.0000001201e-1F);
  p = fma(fma(p, r, 1.0F), r, 1.0F);
  const IntLanes exponent = (reinterpret_cast<IntLanes>(shifted) - reinterpret_cast<IntLanes>(rounder) + 127) << 23;
  const Lanes result = p * reinterpret_cast<Lanes>(exponent);
  return vanishes ? Lanes{} : result;
}

/// 1 / (1 + e^-x) within 2.5 units in the last place.
FEDSTRIDE_INLINE Lanes sigmoid(Lanes x) { return 1.0F / (1.0F + exp(-x)); }

/// tanh x within 1 unit in the last place.
FEDSTRIDE_INLINE Lanes tanh(Lanes x) {
  const Lanes size = x < Lanes{} ? -x : x;
  const Lanes z = x * x;
  Lanes p = broadcast(-5.70498872745e-3F);
  p = fma(p, z, 2.06390887954e-2F);
  p = fma(p, z, -5.37397155531e-2F);
  p = fma(p, z, 1.33314422036e-1F);
  p = fma(p, z, -3.33332819422e-1F);
  const Lanes near = fma(p * z, x, x);
  // 1 - 2 / (e^2|x| + 1), corrected for the rounding errors of the divisor, the quotient and the difference.
  const Lanes power = exp(size * 2.0F);
  const Lanes divisor = power + 1.0F;
  const Lanes quotient = 2.0F / divisor;
  const Lanes lost = fma(-quotient, 1.0F - (divisor - power), fma(-quotient, divisor, broadcast(2.0F)));
  const Lanes rest = 1.0F - quotient;
  const Lanes far = rest + fma(lost * quotient, -0.5F, (1.0F - rest) - quotient);
  return size < broadcast(0.625F) ? near : (x < Lanes{} ? -far : far);
}

/// The standard normal distribution function, with an absolute error below 4e-7, and the density. Relative errors of the lower
/// tail and the density are below 4e-6 for |x| <= 9.
struct NormalLanes {
  Lanes distribution;
  Lanes density;
};

/// The tail beyond |x| is e^(-x^2/2) times a polynomial in 1 / (1 + 0.28 |x|), fitted at Chebyshev nodes.
FEDSTRIDE_INLINE NormalLanes standard_normal(Lanes x) {
  const Lanes size = x < Lanes{} ? -x : x;
  const Lanes bell = exp(size * size * -0.5F);
  const Lanes u = 1.0F / fma(size, 0.282842712474619F, 1.0F);
  Lanes p = broadcast(0.050187841057777405F);
  p = fma(p, u, -0.18261758983135223F);
  p = fma(p, u, 0.16864755749702454F);
  p = fma(p, u, -0.005258617922663689F);
  p = fma(p, u, 0.14127890765666962F);
  p = fma(p, u, 0.16857774555683136F);
  p = fma(p, u, 0.20783863961696625F);
  p = fma(p, u, 0.2256697714328766F);
  p = fma(p, u, 0.22567586600780487F);
  const Lanes tail = bell * (p * u) * 0.5F;
  return {x > Lanes{} ? 1.0F - tail : tail, bell * 0.3989422804014327F};
}

}  // namespace fedstride

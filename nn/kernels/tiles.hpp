#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "core/simd.hpp"

// Products are computed one tile of results at a time: kRows rows of kVectors vectors each, which stay in registers.

namespace fedstride {

/// The functions for tiles of every size: [a - 1][b - 1] is make.operator()<a, b>().
template <int kFirst, int kSecond, class Make>
constexpr auto tile_table(Make make) {
  const auto row = [make]<int kA, int... kB>(std::integer_sequence<int, kB...>) {
    return std::array{make.template operator()<kA, kB + 1>()...};
  };
  using Second = std::make_integer_sequence<int, kSecond>;
  using Row = decltype(row.template operator()<1>(Second{}));
  return [row]<int... kA>(std::integer_sequence<int, kA...>) {
    return std::array<Row, kFirst>{row.template operator()<kA + 1>(Second{})...};
  }
  (std::make_integer_sequence<int, kFirst>{});
}

/// Loads rows `stride` apart, with `tail` floats in the last vector of each.
template <int kRows, int kVectors>
FEDSTRIDE_INLINE void load_tile(Lanes (&tile)[kRows][kVectors], const float* from, std::size_t stride, int tail) {
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors - 1>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { tile[r][v] = load(from + r * stride + v * kLanes); });
    tile[r][kVectors - 1] = load_first(from + r * stride + (kVectors - 1) * kLanes, tail);
  });
}
template <int kRows, int kVectors>
FEDSTRIDE_INLINE void store_tile(const Lanes (&tile)[kRows][kVectors], float* to, std::size_t stride, int tail) {
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors - 1>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { store(to + r * stride + v * kLanes, tile[r][v]); });
    store_first(to + r * stride + (kVectors - 1) * kLanes, tile[r][kVectors - 1], tail);
  });
}

/// The same for whole vectors.
template <int kRows, int kVectors>
FEDSTRIDE_INLINE void load_tile(Lanes (&tile)[kRows][kVectors], const float* from, std::size_t stride) {
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { tile[r][v] = load(from + r * stride + v * kLanes); });
  });
}
template <int kRows, int kVectors>
FEDSTRIDE_INLINE void store_tile(const Lanes (&tile)[kRows][kVectors], float* to, std::size_t stride) {
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { store(to + r * stride + v * kLanes, tile[r][v]); });
  });
}

/// Splits `count` into the fewest blocks of at most `most`, as equal as possible; calls body(first, size).
FEDSTRIDE_INLINE void for_blocks(int count, int most, auto&& body) {
  const int blocks = (count + most - 1) / most;
  for (int block = 0; block < blocks; ++block) {
    const int first = count * block / blocks;
    body(first, count * (block + 1) / blocks - first);
  }
}

/// Calls body(first, get, put) for `count` floats, one vector at a time; get and put touch nothing after the last float.
template <class Count, class Body>
FEDSTRIDE_INLINE void for_vectors(Count count, Body&& body) {
  Count i = 0;
  for (; i + kLanes <= count; i += kLanes)
    body(
        i, [](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load(from); },
        [](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store(to, value); });
  const int tail = static_cast<int>(count - i);
  if (tail > 0)
    body(
        i, [=](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load_first(from, tail); },
        [=](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store_first(to, value, tail); });
}

/// Returns the sum of e^(value - largest) over `count` values; put(i, powers, some) receives the powers of the `some` values
/// starting at i, with 0 in the other lanes.
FEDSTRIDE_INLINE float sum_of_powers(const float* values, int count, float largest, auto&& put) {
  LaneSums total;
  for (int group = 0; group < count; group += kSumLanes)
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      const int i = group + part * kLanes;
      if (i >= count) return;
      const int some = count - i < kLanes ? count - i : kLanes;
      Lanes power = exp(load_first(values + i, some) - largest);
      power = lane_numbers() < broadcast(some) ? power : Lanes{};
      put(i, power, some);
      total.part[part] += power;
    });
  return sum(total);
}

// DoubleLanes fit in a vector register: half as many doubles as Lanes has floats. Sums of them have kDoubleSumLanes lanes.

typedef double DoubleLanes __attribute__((vector_size(kLanes * 4)));
typedef float HalfLanes __attribute__((vector_size(kLanes * 2)));
typedef float UnalignedHalfLanes __attribute__((vector_size(kLanes * 2), aligned(4), may_alias));

inline constexpr std::size_t kDoubleLanes = kLanes / 2;
inline constexpr std::size_t kDoubleSumLanes = kSumLanes / 2;

FEDSTRIDE_INLINE DoubleLanes load_doubles(const float* from) {
  return __builtin_convertvector(static_cast<HalfLanes>(*reinterpret_cast<const UnalignedHalfLanes*>(from)), DoubleLanes);
}

/// a * b + c, where a and b are floats: their product is exact, so it does not matter whether it is fused.
FEDSTRIDE_INLINE DoubleLanes add_product(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
#if defined(__AVX512F__)
  return reinterpret_cast<DoubleLanes>(
      _mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__AVX__) && defined(__FMA__)
  return reinterpret_cast<DoubleLanes>(
      _mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#elif defined(__aarch64__)
  return reinterpret_cast<DoubleLanes>(
      vfmaq_f64(reinterpret_cast<float64x2_t>(c), reinterpret_cast<float64x2_t>(a), reinterpret_cast<float64x2_t>(b)));
#else
  return a * b + c;
#endif
}

typedef double UnalignedDoubleLanes __attribute__((vector_size(kLanes * 4), aligned(8), may_alias));
FEDSTRIDE_INLINE DoubleLanes load(const double* from) { return *reinterpret_cast<const UnalignedDoubleLanes*>(from); }
FEDSTRIDE_INLINE void store(double* to, DoubleLanes value) { *reinterpret_cast<UnalignedDoubleLanes*>(to) = value; }

struct DoubleSums {
  DoubleLanes part[kSumParts] = {};
};

/// Adds the lanes in order.
FEDSTRIDE_INLINE double sum(const DoubleSums& sums) {
  double total = 0;
  for (int part = 0; part < kSumParts; ++part)
    for (std::size_t lane = 0; lane < kDoubleLanes; ++lane) total += sums.part[part][lane];
  return total;
}

}  // namespace fedstride

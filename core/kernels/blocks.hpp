#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/words.hpp"
#include "core/simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fedstride {

typedef std::uint32_t WordLanes __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t UnalignedWordLanes __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef std::uint64_t WideLanes __attribute__((vector_size(kLanes * 4)));

FEDSTRIDE_INLINE WordLanes broadcast(std::uint32_t value) { return value - WordLanes{}; }
FEDSTRIDE_INLINE WideLanes broadcast(std::uint64_t value) { return value - WideLanes{}; }

/// Multiplies the lower halves of 64-bit lanes.
FEDSTRIDE_INLINE WideLanes multiply_low(WideLanes a, WideLanes b) {
#if defined(__AVX512F__)
  return reinterpret_cast<WideLanes>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<WideLanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && !defined(__AVX__)
  return reinterpret_cast<WideLanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

/// Philox4x32-10 of kLanes counters that differ in their first word; lane i of each of `words` belongs to block numbers[i].
struct Philox {
  static constexpr int kWords = 4;

  FEDSTRIDE_INLINE static void blocks(const BlockKey& from, WordLanes numbers, WordLanes (&words)[kWords]) {
    // Each pair of lanes is treated as a 64-bit lane, whose upper half is never read.
    constexpr std::uint64_t kFactor0 = 0xD2511F53;
    constexpr std::uint64_t kFactor1 = 0xCD9E8D57;
    std::uint64_t key0 = from.key[0];
    std::uint64_t key1 = from.key[1];
    const WideLanes factor0 = broadcast(kFactor0);
    const WideLanes factor1 = broadcast(kFactor1);
    WideLanes state[4][2];
    // In the first two rounds, half of the words are the same in all lanes.
    std::uint64_t product = kFactor1 * from.address[1];
    const std::uint64_t word0 = (product >> 32) ^ from.address[0] ^ key0;
    const std::uint64_t word1 = product & 0xffffffff;
    const WideLanes mask0 = broadcast(from.address[2] ^ key1);
    key0 = (key0 + 0x9E3779B9) & 0xffffffff;
    key1 = (key1 + 0xBB67AE85) & 0xffffffff;
    product = kFactor0 * word0;
    const WideLanes mask1 = broadcast(word1 ^ key0);
    const WideLanes mask2 = broadcast((product >> 32) ^ key1);
    unrolled<2>([&](auto odd) FEDSTRIDE_INLINE_LAMBDA {
      const WideLanes number = odd ? reinterpret_cast<WideLanes>(numbers) >> 32 : reinterpret_cast<WideLanes>(numbers);
      const WideLanes first = multiply_low(factor0, number);
      const WideLanes second = multiply_low(factor1, (first >> 32) ^ mask0);
      state[0][odd] = (second >> 32) ^ mask1;
      state[1][odd] = second;
      state[2][odd] = first ^ mask2;
      state[3][odd] = broadcast(product);
    });
    unrolled<8>([&](auto) FEDSTRIDE_INLINE_LAMBDA {
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
      const WideLanes round_key0 = broadcast(key0);
      const WideLanes round_key1 = broadcast(key1);
      unrolled<2>([&](auto odd) FEDSTRIDE_INLINE_LAMBDA {
        const WideLanes product0 = multiply_low(factor0, state[0][odd]);
        const WideLanes product1 = multiply_low(factor1, state[2][odd]);
        state[0][odd] = (product1 >> 32) ^ state[1][odd] ^ round_key0;
        state[1][odd] = product1;
        state[2][odd] = (product0 >> 32) ^ state[3][odd] ^ round_key1;
        state[3][odd] = product0;
      });
    });
    unrolled<kWords>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      words[i] = reinterpret_cast<WordLanes>((state[i][0] & 0xffffffff) | (state[i][1] << 32));
    });
  }
};

/// The same for ChaCha20.
struct ChaCha {
  static constexpr int kWords = 16;

  template <int kBits>
  FEDSTRIDE_INLINE static WordLanes rotated(WordLanes x) {
    return (x << kBits) | (x >> (32 - kBits));
  }
  FEDSTRIDE_INLINE static void quarter_round(WordLanes& a, WordLanes& b, WordLanes& c, WordLanes& d) {
    a += b, d = rotated<16>(d ^ a);
    c += d, b = rotated<12>(b ^ c);
    a += b, d = rotated<8>(d ^ a);
    c += d, b = rotated<7>(b ^ c);
  }

  FEDSTRIDE_INLINE static void blocks(const BlockKey& from, WordLanes numbers, WordLanes (&words)[kWords]) {
    const std::uint32_t start[12] = {0x61707865,  0x3320646e,  0x79622d32,  0x6b206574,  from.key[0], from.key[1],
                                     from.key[2], from.key[3], from.key[4], from.key[5], from.key[6], from.key[7]};
    unrolled<12>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { words[i] = broadcast(start[i]); });
    words[12] = numbers;
    unrolled<3>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { words[13 + i] = broadcast(from.address[i]); });
    for (int round = 0; round < 20; round += 2) {
      unrolled<4>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { quarter_round(words[i], words[4 + i], words[8 + i], words[12 + i]); });
      unrolled<4>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
        quarter_round(words[i], words[4 + (i + 1) % 4], words[8 + (i + 2) % 4], words[12 + (i + 3) % 4]);
      });
    }
    unrolled<12>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { words[i] += start[i]; });
    words[12] += numbers;
    unrolled<3>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { words[13 + i] += from.address[i]; });
  }
};

}  // namespace fedstride

#pragma once

#include <cstddef>
#include <cstdint>

namespace fedstride {

/// The input of a block in addition to its number; see RandomStream.
struct BlockKey {
  const std::uint32_t* key;      ///< 2 words (Philox) or 8 (ChaCha20)
  const std::uint32_t* address;  ///< counter[1..3]
};

/// Number of blocks computed together; word k of all of them forms a row of 16.
inline constexpr int kBlocksAtOnce = 16;

/// Computes batches of 16 blocks: words[16 * (W * b + k) + i] is word k of block numbers[16 * b + i], with W words per block.
void philox_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words);
void chacha_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words);

/// Number of normal draws computed together, as one group, from 16 blocks.
inline constexpr std::size_t kPhiloxNormals = 64;
inline constexpr std::size_t kChachaNormals = 256;

/// Adds `groups` whole groups of normal draws (core/normals.hpp), times `scale`, to `values`, starting with group `first_group`.
void add_philox_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups);
void add_chacha_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups);

}  // namespace fedstride

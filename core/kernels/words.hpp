#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/block_key.hpp"

namespace fedstride {

/// Batches of sixteen blocks: words[16 * (W * b + k) + i] is word k of block numbers[16 * b + i], W words a block.
void philox_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words);
void chacha_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words);

}  // namespace fedstride

#pragma once

#include <cstdint>

namespace fedstride {

/// What a block is made from besides its number; see RandomStream.
struct BlockKey {
  const std::uint32_t* key;      ///< 2 words (Philox) or 8 (ChaCha20)
  const std::uint32_t* address;  ///< counter[1..3]
};

/// Blocks that belong together: word k of each of them is a row of 16.
inline constexpr int kBlocksAtOnce = 16;

}  // namespace fedstride

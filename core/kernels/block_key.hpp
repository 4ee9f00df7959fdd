#pragma once

#include <cstdint>

namespace fedstride {

/// The input of a block besides its number; see RandomStream.
struct BlockKey {
  const std::uint32_t* key;      ///< 2 words (Philox) or 8 (ChaCha20)
  const std::uint32_t* address;  ///< counter[1..3]
};

/// Number of blocks made together: word k of all of them is a row of 16.
inline constexpr int kBlocksAtOnce = 16;

}  // namespace fedstride

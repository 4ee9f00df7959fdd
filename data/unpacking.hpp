#pragma once

#include <cstdint>

namespace fedstride {

// A packed file may hold so many times its own size and so many bytes more, so that a small file does not fill the memory.
constexpr std::uint64_t kMaxUnpacking = 256;
constexpr std::uint64_t kAlwaysUnpacked = std::uint64_t{64} << 20;

/// The most bytes that may come out of a file of `size` bytes.
constexpr std::uint64_t most_unpacked(std::uint64_t size) { return kAlwaysUnpacked + kMaxUnpacking * size; }

}  // namespace fedstride

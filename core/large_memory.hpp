#pragma once

#include <cstddef>

namespace fedstride {

/// Allocates memory aligned to 64 bytes, for model-sized buffers that come and go in every round. Blocks of 64 KiB or more come
/// from outside the heap, so small blocks cannot fragment the space that they free. Freed blocks are kept for the next request of
/// the same size: since all rounds are alike, they reuse memory without system calls. At most half of the amount in use is kept,
/// or 64 MiB if that is more. Any thread may free memory. Throws std::bad_alloc.
void* large_memory(std::size_t bytes);
/// Requires memory returned by large_memory(bytes).
void give_back(void* memory, std::size_t bytes) noexcept;

}  // namespace fedstride

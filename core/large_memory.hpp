#pragma once

#include <cstddef>

namespace fedstride {

/// Memory for the buffers of a model's size that come and go with every round, aligned to 64 bytes. From 64 KiB on it is apart from the
/// heap, so that nothing small settles in the place of one that is gone, and what is given back is kept for the next of its size:
/// rounds are all alike, so they take the same memory again, without the system's help. At most half as much is kept as is in use, but
/// 64 MiB at any time. Any thread may give back what another took. Throws std::bad_alloc.
void* large_memory(std::size_t bytes);
/// Requires what large_memory(bytes) returned.
void give_back(void* memory, std::size_t bytes) noexcept;

}  // namespace fedstride

#pragma once

#include <cstddef>

#include "nn/kernels/buffer.hpp"

namespace fedstride {

/// At least `size` floats for what one call computes on the way: the calling thread's, the same memory at every call, which is
/// therefore in its cache. On a cache line, contents left over from before; valid until the thread's next call.
inline float* thread_scratch(std::size_t size) {
  thread_local Buffer<float> scratch;
  if (scratch.size() < size) scratch = Buffer<float>(size);
  return scratch.data();
}

}  // namespace fedstride

#pragma once

#include <cstddef>

#include "nn/kernels/buffer.hpp"

namespace fedstride {

enum class Scratch {
  call,      ///< of one call of a stage
  gradients  ///< of the signals between the stages, while they go back over some rows
};

/// At least `size` floats for results on the way: the calling thread's, the same memory at every call with that use, which is
/// therefore in its cache. On a cache line, contents left over from before; valid until the thread's next such call.
template <Scratch kUse>
float* thread_scratch(std::size_t size) {
  thread_local Buffer<float> scratch;
  if (scratch.size() < size) scratch = Buffer<float>(size);
  return scratch.data();
}

}  // namespace fedstride

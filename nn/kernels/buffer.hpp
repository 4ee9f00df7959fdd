#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "core/large_memory.hpp"

namespace fedstride {

/// Zeroed memory that starts on a cache line and ends with one spare cache line, so a kernel may load a whole vector from any
/// place in it.
template <class T>
  requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(large_memory(size * sizeof(T) + kAlignment)), Free{size}), size_(size) {
    std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T) + kAlignment);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    std::size_t size = 0;
    void operator()(T* data) const { give_back(data, size * sizeof(T) + kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

/// Rows of floats, `stride` apart.
struct Rows {
  float* data = nullptr;
  std::size_t stride = 0;
  float* operator[](int row) const { return data + static_cast<std::size_t>(row) * stride; }
};

/// Distance between rows of `size` floats: an odd number of cache lines, so the rows of a batch do not all map to the same few
/// cache sets.
constexpr std::size_t row_stride(std::size_t size) {
  const std::size_t lines = (size + 15) / 16;
  return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}

enum class Scratch {
  call,               ///< for one call of a stage
  packed,             ///< for weights that a kernel packs
  gradients_by_lane,  ///< for output gradients that a kernel orders by lane
  gradients           ///< for the signals between stages, in the backward pass over some rows
};

/// At least `size` numbers, owned by the calling thread, for intermediate results. Calls with the same use and type return the same memory
/// unless it must grow, so it stays in the thread's cache. It starts on a cache line, holds old contents, and is valid until the
/// thread's next such call.
template <Scratch kUse, class T = float>
T* thread_scratch(std::size_t size) {
  thread_local Buffer<T> scratch;
  if (scratch.size() < size) scratch = Buffer<T>(size);
  return scratch.data();
}

}  // namespace fedstride

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/large_memory.hpp"

namespace fedstride {

/// Allocates memory aligned to 64 bytes, the width of the widest vector register (core/large_memory.hpp).
template <class T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(large_memory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { give_back(memory, count * sizeof(T)); }
  bool operator==(const AlignedAllocator&) const = default;
};

/// All parameters of a model, one after the other, 64-byte aligned. The model knows each tensor's stretch (nn/model.hpp), which
/// averaging, sending, hashing and saving do not need. Arithmetic uses Eigen (core/eigen.hpp).
class Vector {
 public:
  Vector() = default;
  explicit Vector(std::size_t size, float value = 0) : values_(size, value) {}
  explicit Vector(std::span<const float> values) : values_(values.begin(), values.end()) {}

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  float& operator[](std::size_t i) { return values_[i]; }
  float operator[](std::size_t i) const { return values_[i]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  /// Keeps the existing values; new ones are 0.
  void resize(std::size_t size) { values_.resize(size); }
  void assign(std::size_t size, float value) { values_.assign(size, value); }
  void assign(std::span<const float> values) { values_.assign(values.begin(), values.end()); }
  void append(std::span<const float> values) { values_.insert(values_.end(), values.begin(), values.end()); }
  void fill(float value) { std::fill(values_.begin(), values_.end(), value); }
  void swap(Vector& other) noexcept { values_.swap(other.values_); }

  /// Equal as numbers: 0 equals -0, NaN equals nothing.
  bool operator==(const Vector&) const = default;

 private:
  std::vector<float, AlignedAllocator<float>> values_;
};

inline std::span<const float> view(const Vector& vector) { return {vector.data(), vector.size()}; }
inline std::span<float> view(Vector& vector) { return {vector.data(), vector.size()}; }

}  // namespace fedstride

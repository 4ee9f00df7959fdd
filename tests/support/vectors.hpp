#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/vector.hpp"

namespace fedstride::test {

inline Vector vector_of(const std::vector<float>& values) { return Vector(values); }

inline std::vector<float> values_of(const Vector& vector) { return {vector.begin(), vector.end()}; }

/// From -1 to 1 in equal steps.
inline Vector rising_vector(std::size_t size) {
  Vector vector(size);
  for (std::size_t i = 0; i < size; ++i) vector[i] = -1 + 2 * static_cast<float>(i) / static_cast<float>(size > 1 ? size - 1 : 1);
  return vector;
}

/// All of it is zero.
inline bool is_zero(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

}  // namespace fedstride::test

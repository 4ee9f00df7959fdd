#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

namespace fedstride {

/// Every parameter of a model, one after the other, 64-byte aligned. Which stretch is which tensor is the model's affair
/// (nn/model.hpp); averaging, sending, hashing and saving never ask.
using Vector = Eigen::VectorXf;

inline std::span<const float> view(const Vector& vector) {
  return {vector.data(), static_cast<std::size_t>(vector.size())};
}
inline std::span<float> view(Vector& vector) { return {vector.data(), static_cast<std::size_t>(vector.size())}; }

}  // namespace fedstride

#pragma once

#include <Eigen/Core>

#include "core/vector.hpp"

namespace fedstride {

/// A Vector as one of Eigen's, where it lies. Slow to compile: for .cpp files alone.
inline auto eigen(Vector& vector) {
  return Eigen::Map<Eigen::VectorXf, Eigen::Aligned64>(vector.data(), static_cast<Eigen::Index>(vector.size()));
}
inline auto eigen(const Vector& vector) {
  return Eigen::Map<const Eigen::VectorXf, Eigen::Aligned64>(vector.data(), static_cast<Eigen::Index>(vector.size()));
}

}  // namespace fedstride

#pragma once

#include <Eigen/Core>

#include "core/vector.hpp"

namespace fedstride {

/// Views a Vector as an Eigen vector, without a copy. This header compiles slowly: include it in .cpp files only.
inline auto eigen(Vector& vector) {
  return Eigen::Map<Eigen::VectorXf, Eigen::Aligned64>(vector.data(), static_cast<Eigen::Index>(vector.size()));
}
inline auto eigen(const Vector& vector) {
  return Eigen::Map<const Eigen::VectorXf, Eigen::Aligned64>(vector.data(), static_cast<Eigen::Index>(vector.size()));
}

}  // namespace fedstride

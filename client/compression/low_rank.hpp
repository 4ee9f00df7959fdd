#pragma once

#include <cstddef>

#include "core/random.hpp"

namespace fedstride {

/// Factors of an n x m matrix by rows: an n x rank P whose columns are orthonormal or 0, then the m x rank M^T P. Three steps of
/// subspace iteration from normal draws; the same bits everywhere.
void factorize(const float* matrix, std::size_t n, std::size_t m, std::size_t rank, RandomStream& random, float* factors);
/// Their product P (M^T P)^T.
void multiply_factors(const float* factors, std::size_t n, std::size_t m, std::size_t rank, float* matrix);

}  // namespace fedstride

#pragma once

#include <cstddef>

namespace fedstride {

/// The sum of the squares, in double, so no square of a finite float overflows or underflows.
double squared_norm(const float* values, std::size_t size);

/// to[i] += from[i] * factor.
void add_scaled(float* to, const float* from, float factor, std::size_t size);

/// The same in double, in which the products are exact.
void add_scaled(double* to, const float* from, float factor, std::size_t size);

/// to[i] = from[i] * factor.
void scale(float* to, const float* from, float factor, std::size_t size);

}  // namespace fedstride

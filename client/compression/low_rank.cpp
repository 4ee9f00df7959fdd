#include "client/compression/power_sgd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fedstride {
namespace {

// Makes the columns of an n x rank matrix orthonormal, by applying Gram-Schmidt twice to each. Dependent columns become 0.
void orthonormalize(float* p, std::size_t n, std::size_t rank) {
  for (std::size_t column = 0; column < rank; ++column) {
    const auto dot = [&](std::size_t other) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(p[i * rank + column]) * p[i * rank + other];
      return sum;
    };
    const double before = dot(column);
    for (int again = 0; again < 2; ++again)
      for (std::size_t other = 0; other < column; ++other) {
        const auto along = static_cast<float>(dot(other));
        for (std::size_t i = 0; i < n; ++i) p[i * rank + column] -= along * p[i * rank + other];
      }
    const double square = dot(column);
    const float factor = square > 1e-10 * before ? static_cast<float>(1 / std::sqrt(square)) : 0.0F;
    for (std::size_t i = 0; i < n; ++i) p[i * rank + column] *= factor;
  }
}

// p = M q, one row of M at a time.
void times(const float* matrix, std::size_t n, std::size_t m, std::size_t rank, const float* __restrict q, float* __restrict p) {
  std::fill_n(p, n * rank, 0.0F);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t k = 0; k < rank; ++k) p[i * rank + k] += matrix[i * m + j] * q[j * rank + k];
}

// q = M^T p.
void transposed_times(const float* matrix, std::size_t n, std::size_t m, std::size_t rank, const float* __restrict p,
                      float* __restrict q) {
  std::fill_n(q, m * rank, 0.0F);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t k = 0; k < rank; ++k) q[j * rank + k] += matrix[i * m + j] * p[i * rank + k];
}

}  // namespace

void factorize(const float* matrix, std::size_t n, std::size_t m, std::size_t rank, RandomStream& random, float* factors) {
  constexpr int kSteps = 3;
  float* p = factors;
  float* q = factors + n * rank;
  // Divides by the largest magnitude, so that no square overflows a float.
  float largest = 0;
  for (std::size_t i = 0; i < n * m; ++i) largest = std::max(largest, std::fabs(matrix[i]));
  if (!(largest > 0)) return static_cast<void>(std::fill_n(factors, (n + m) * rank, 0.0F));
  std::vector<float> scaled(matrix, matrix + n * m);
  for (float& number : scaled) number /= largest;
  for (std::size_t i = 0; i < m * rank; ++i) q[i] = static_cast<float>(random.normal());
  for (int step = 0; step < kSteps; ++step) {
    times(scaled.data(), n, m, rank, q, p);
    orthonormalize(p, n, rank);
    transposed_times(scaled.data(), n, m, rank, p, q);
  }
  for (std::size_t i = 0; i < m * rank; ++i) q[i] *= largest;
}

void multiply_factors(const float* factors, std::size_t n, std::size_t m, std::size_t rank, float* matrix) {
  const float* p = factors;
  const float* q = factors + n * rank;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += p[i * rank + k] * q[j * rank + k];
      matrix[i * m + j] = sum;
    }
}

}  // namespace fedstride

#include "client/compression/hadamard.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace fedstride {
namespace {

constexpr std::size_t kStretch = 16;

void butterflies(float* __restrict low, float* __restrict high, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float sum = low[i] + high[i];
    high[i] = low[i] - high[i];
    low[i] = sum;
  }
}

// Applies the transform's stages of distances 1, 2, 4 and 8.
void stretch(float* numbers) {
  for (std::size_t half = 1; half < kStretch; half *= 2) {
    float next[kStretch];
    for (std::size_t i = 0; i < kStretch; ++i) {
      const float other = numbers[i ^ half];
      next[i] = (i & half) != 0 ? other - numbers[i] : numbers[i] + other;
    }
    std::copy_n(next, kStretch, numbers);
  }
}

float with_sign(float value, std::uint32_t sign) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign); }

}  // namespace

void walsh_hadamard(float* numbers, std::size_t n) {
  std::size_t half = 1;
  if (n >= kStretch) {
    for (std::size_t i = 0; i < n; i += kStretch) stretch(numbers + i);
    half = kStretch;
  }
  for (; half < n; half *= 2)
    for (std::size_t i = 0; i < n; i += 2 * half) butterflies(numbers + i, numbers + i + half, half);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t i = 0; i < n; ++i) numbers[i] *= scale;
}

void RandomSigns::apply(float* numbers, std::size_t n) {
  constexpr std::size_t kBits = 32;
  for (std::size_t first = 0; first < n; first += Draws::kAtOnce * kBits) {
    const auto& words = draws_.next();
    const std::size_t end = std::min(n, first + Draws::kAtOnce * kBits);
    for (std::size_t i = first; i < end; i += kBits) {
      const std::uint32_t word = words[(i - first) / kBits];
      const std::size_t count = std::min(kBits, end - i);
      for (std::size_t j = 0; j < count; ++j) numbers[i + j] = with_sign(numbers[i + j], word >> j << 31);
    }
  }
}

void add_magnitudes(const float* numbers, std::size_t n, double& square, double& sum) {
  constexpr std::size_t kOnce = 512;
  for (std::size_t first = 0; first < n; first += kOnce) {
    const std::size_t end = std::min(n, first + kOnce);
    float squares[kStretch] = {}, sums[kStretch] = {};
    std::size_t i = first;
    for (; i + kStretch <= end; i += kStretch)
      for (std::size_t lane = 0; lane < kStretch; ++lane) {
        squares[lane] += numbers[i + lane] * numbers[i + lane];
        sums[lane] += std::fabs(numbers[i + lane]);
      }
    for (; i < end; ++i) {
      squares[0] += numbers[i] * numbers[i];
      sums[0] += std::fabs(numbers[i]);
    }
    for (std::size_t lane = 0; lane < kStretch; ++lane) {
      square += static_cast<double>(squares[lane]);
      sum += static_cast<double>(sums[lane]);
    }
  }
}

void put_signs(const float* numbers, std::size_t n, std::string& code) {
  for (std::size_t i = 0; i < n; i += 8) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < 8 && i + j < n; ++j) byte |= static_cast<unsigned>(numbers[i + j] < 0) << j;
    code.push_back(static_cast<char>(byte));
  }
}

bool take_signs(std::string_view code, float scale, float* numbers, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    numbers[i] = with_sign(scale, std::uint32_t{static_cast<unsigned char>(code[i / 8])} >> i % 8 << 31);
  return n % 8 == 0 || static_cast<unsigned char>(code[n / 8]) >> n % 8 == 0;
}

}  // namespace fedstride

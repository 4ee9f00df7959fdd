#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/compression/draws.hpp"

namespace fedstride {

/// In-place Walsh-Hadamard transform of n numbers (a power of 2), divided by sqrt(n), so it is its own inverse.
void walsh_hadamard(float* numbers, std::size_t n);

/// Flips the signs of numbers at random, using one bit per number. Each call uses new draws.
class RandomSigns {
 public:
  explicit RandomSigns(const RandomStream& stream) : draws_(stream) {}
  void apply(float* numbers, std::size_t n);

 private:
  Draws draws_;
};

/// square += sum x^2, sum += sum |x|. Sums stretches of 512 numbers in float, in 16 lanes; adds the lanes' sums in double.
void add_magnitudes(const float* numbers, std::size_t n, double& square, double& sum);

/// Appends one bit per number, set if the number is negative, and pads the last byte with zeros.
void put_signs(const float* numbers, std::size_t n, std::string& code);
/// Sets each number to scale or -scale, according to its bit in `code`. Returns false if the padding of the last byte is not 0.
bool take_signs(std::string_view code, float scale, float* numbers, std::size_t n);

}  // namespace fedstride

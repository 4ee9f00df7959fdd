#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/compression/draws.hpp"

namespace fedstride {

/// The Walsh-Hadamard transform of n numbers, a power of 2, in place, divided by sqrt(n): its own inverse.
void walsh_hadamard(float* numbers, std::size_t n);

/// Flips the signs of numbers at random, one bit per number, each call with the next draws.
class RandomSigns {
 public:
  explicit RandomSigns(const RandomStream& stream) : draws_(stream) {}
  void apply(float* numbers, std::size_t n);

 private:
  Draws draws_;
};

/// square += sum x^2, sum += sum |x|: in float in 16 lanes by stretches, in double between them.
void add_magnitudes(const float* numbers, std::size_t n, double& square, double& sum);

/// One bit per number, set if it is negative, padded to a byte.
void put_signs(const float* numbers, std::size_t n, std::string& code);
/// numbers[i] = +-scale. False if the padding of the last byte is not 0.
bool take_signs(std::string_view code, float scale, float* numbers, std::size_t n);

}  // namespace fedstride

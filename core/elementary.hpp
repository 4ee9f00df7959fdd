#pragma once

// Elementary functions that return the same bits everywhere. C libraries differ in the last bits between versions and processors,
// so code that affects a training result calls these instead. Each is within one unit in the last place of the exact value, as
// tests/core/elementary_test.cpp checks against 50 digits. Results below 2^-1022 are 0. For vectors of floats, see core/simd.hpp.

namespace fedstride::portable {

/// e^x; 0 below -708.4, infinity above 709.78.
double exp(double x);

/// ln x; -infinity for 0, NaN below.
double log(double x);

/// x^y for x >= 0, within one unit in the last place if |y ln x| <= 700.
double pow(double x, double y);

struct Direction {
  double cosine;
  double sine;
};
/// cos and sin of 2 pi turns, for `turns` in [0, 1]; the argument reduction is exact.
Direction direction(double turns);

}  // namespace fedstride::portable

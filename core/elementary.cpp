#include "core/elementary.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fedstride::portable {
namespace {

// A number as the sum of two doubles, with about 106 bits. Products split their factors (Dekker) and sums use Knuth's method;
// both are exact with any compiler, since the build turns contraction off.
struct Pair {
  double high;
  double low;
};

Pair sum(double a, double b) {
  const double high = a + b;
  const double part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}

Pair product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_high = kSplit * a - (kSplit * a - a), a_low = a - a_high;
  const double b_high = kSplit * b - (kSplit * b - b), b_low = b - b_high;
  const double high = a * b;
  return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Pair operator+(Pair a, Pair b) {
  const Pair high = sum(a.high, b.high), low = sum(a.low, b.low);
  const Pair rest = sum(high.high, high.low + low.high);
  return sum(rest.high, rest.low + low.low);
}

Pair operator*(Pair a, Pair b) {
  const Pair high = product(a.high, b.high);
  return sum(high.high, high.low + (a.high * b.low + a.low * b.high));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// ln 2, split into its first 42 bits, whose products with an exponent are exact, and the rest.
constexpr double kLn2 = 0x1.62e42fefa3800p-1;
constexpr Pair kLn2Rest{0x1.ef35793c76730p-45, 0x1.f97b57a079a19p-103};
constexpr Pair kTwoThirds{0x1.5555555555555p-1, 0x1.5555555555555p-55};
constexpr Pair kQuarterTurn{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};  // pi / 2
constexpr double kRounder = 0x1.8p52;                                      // adding it rounds to a whole number

/// The reduction of finite x > 0: m = x / 2^exponent in [0.70, 1.42) and s = (m - 1) / (m + 1).
struct Reduced {
  double exponent;
  Pair s;
};
Reduced reduced(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFFU) | 0x3FF0'0000'0000'0000U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double f = m - 1;
  const Pair divisor = sum(m, 1);
  const double s = f / divisor.high;
  const Pair back = product(s, divisor.high);
  return {static_cast<double>(exponent), {s, (((f - back.high) - back.low) - s * divisor.low) / divisor.high}};
}

// ln x = 2 s (1 + z / 3 + z^2 / 5 + ...) + exponent ln 2, with z = s^2 <= 0.0295.

/// 2 / first + 2 z / (first + 2) + ..., to 1e-17; even and odd terms are summed separately, which is faster.
template <int kFirst>
double series_from(double z) {
  const double w = z * z;
  double even = 0, odd = 0;
  for (int term = kFirst + 20; term >= kFirst; term -= 4) {
    even = even * w + 2.0 / term;
    odd = odd * w + 2.0 / (term + 2);
  }
  return even + z * odd;
}

/// ln x to 100 bits.
Pair log_pair(double x) {
  const auto [exponent, s] = reduced(x);
  const Pair z = s * s;
  const Pair tail = z * kTwoThirds + Pair{z.high * z.high * series_from<5>(z.high), 0};
  return Pair{exponent * kLn2, 0} +
         (Pair{exponent * kLn2Rest.high, exponent * kLn2Rest.low} + (Pair{2 * s.high, 2 * s.low} + s * tail));
}

/// e^(x.high + x.low)
double exp_of(Pair x) {
  if (!(x.high < 709.79)) return x.high > 0 ? kInfinity : x.high;  // NaN is kept
  if (x.high < -708.4) return 0;
  const double shifted = x.high * 0x1.71547652b82fep+0 + kRounder;
  const double n = shifted - kRounder;
  const Pair r = sum(x.high - n * kLn2, x.low - n * kLn2Rest.high);
  double series = 0;  // (e^r - 1 - r) / r^2 for |r| <= 0.35
  constexpr double kInverseFactorials[] = {1.0 / 2,         1.0 / 6,          1.0 / 24,         1.0 / 120,     1.0 / 720,
                                           1.0 / 5040,      1.0 / 40320,      1.0 / 362880,     1.0 / 3628800, 1.0 / 39916800,
                                           1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};
  for (int i = 12; i >= 0; --i) series = series * r.high + kInverseFactorials[i];
  const Pair one = sum(1, r.high);
  const double fraction = one.high + (one.low + (r.low * (1 + r.high) + r.high * r.high * series));
  // Scaled in two steps, since 2^n alone may overflow.
  const auto exponent = static_cast<std::int64_t>(n), half = exponent / 2;
  const auto power = [](std::int64_t e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); };
  return fraction * power(half) * power(exponent - half);
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double log(double x) {
  if (!(x >= std::numeric_limits<double>::min())) {
    if (x == 0) return -kInfinity;
    if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
    return log(x * 0x1p54) - 54 * 0.6931471805599453;  // below 2^-1022
  }
  if (x == kInfinity) return x;
  const auto [exponent, s] = reduced(x);
  const double z = s.high * s.high;
  const Pair high = sum(exponent * kLn2, 2 * s.high);
  return high.high + (high.low + (2 * s.low + s.high * z * series_from<3>(z) + exponent * kLn2Rest.high));
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (!(x > 0) || !std::isfinite(x) || !std::isfinite(y)) {
    if (std::isnan(x) || std::isnan(y) || x < 0) return std::numeric_limits<double>::quiet_NaN();
    const bool grows = (x > 1) == (y > 0);  // x is 0 or infinite, or y is infinite
    return grows ? kInfinity : 0;
  }
  const Pair exponent = log_pair(x) * Pair{y, 0};
  return exp_of(exponent);
}

Direction direction(double turns) {
  const double quarters = 4 * turns;
  const double shifted = quarters + kRounder;
  const double quarter = shifted - kRounder;
  const double part = quarters - quarter;  // in [-1/2, 1/2]
  const Pair x = kQuarterTurn * Pair{part, 0};
  const Pair z = x * x;
  constexpr double kSine[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                              -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  constexpr double kCosine[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
                                1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
  double sine_series = 0, cosine_series = 0;
  for (int i = 7; i >= 0; --i) {
    sine_series = sine_series * z.high + kSine[i];
    cosine_series = cosine_series * z.high + kCosine[i];
  }
  const double sine = x.high + (x.low * (1 - z.high / 2) + x.high * z.high * sine_series);
  const Pair begin = sum(1, -z.high / 2);
  const double cosine = begin.high + (begin.low + (z.high * z.high * cosine_series - z.low / 2));
  switch (static_cast<int>(quarter) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

}  // namespace fedstride::portable

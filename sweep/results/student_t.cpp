#include "sweep/results/student_t.hpp"

#include <cmath>

#include "core/incomplete_beta.hpp"

namespace fedstride {

// Abramowitz & Stegun 26.7.1: P(|T| <= t) = I_x(1/2, n/2) with x = t^2 / (n + t^2). The function of 1 - x keeps the digits of a
// small probability.
double student_t_two_sided(double t, double degrees) {
  const double square = t * t;
  if (!(square < HUGE_VAL)) return std::isnan(t) ? t : 0;
  if (square < degrees) return 1 - incomplete_beta(0.5, degrees / 2, square / (degrees + square));
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square));
}

double student_t_quantile(double p, double degrees) {
  double low = 0;
  double high = 1;
  while (student_t_two_sided(high, degrees) > p) {
    low = high;
    high *= 2;
  }
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (student_t_two_sided(middle, degrees) > p ? low : high) = middle;
  }
}

}  // namespace fedstride

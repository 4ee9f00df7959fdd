#include "core/probability.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace fedstride {
namespace {

using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace

double incomplete_beta_complement(double a, double b, double x) { return boost::math::ibetac(a, b, x, InDouble()); }

// Abramowitz & Stegun 26.7.1: P(|T| <= t) = I_x(1/2, n/2) with x = t^2 / (n + t^2). Evaluation at 1 - x keeps the digits of a
// small probability. (Boost's own distribution has only 9 digits at t = 1e-8.)
double student_t_two_sided(double t, double degrees) {
  const double square = t * t;
  if (!(square < HUGE_VAL)) return std::isnan(t) ? t : 0;
  if (square < degrees) return 1 - boost::math::ibeta(0.5, degrees / 2, square / (degrees + square), InDouble());
  return boost::math::ibeta(degrees / 2, 0.5, degrees / (degrees + square), InDouble());
}

double student_t_quantile(double p, double degrees) {
  return quantile(complement(boost::math::students_t_distribution<double, InDouble>(degrees), p / 2));
}

}  // namespace fedstride

#pragma once

namespace fedstride {

// Functions of Boost.Math in double precision, compiled only once because that takes seconds.

/// 1 - I_x(a, b), the complement of the regularized incomplete beta function; a, b > 0, 0 <= x <= 1.
double incomplete_beta_complement(double a, double b, double x);

/// The t that |T| exceeds with probability p, 0 < p < 1, where T has Student's t distribution with this many degrees of freedom.
double student_t_quantile(double p, double degrees);

}  // namespace fedstride

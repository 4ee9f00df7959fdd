#pragma once

namespace fedstride {

/// The probability that |T| passes t >= 0, T of Student's distribution with so many degrees of freedom (> 0).
double student_t_two_sided(double t, double degrees);

/// The t that |T| passes with this probability, 0 < p < 1.
double student_t_quantile(double p, double degrees);

}  // namespace fedstride

#pragma once

namespace fedstride {

/// I_x(a, b), the regularised incomplete beta function, and 1 - I_x(a, b); a, b > 0, 0 <= x <= 1. From Boost.Math, in double:
/// compiled once, for it costs seconds.
double incomplete_beta(double a, double b, double x);
double incomplete_beta_complement(double a, double b, double x);

}  // namespace fedstride

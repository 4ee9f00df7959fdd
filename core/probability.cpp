#include "core/probability.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace fedstride {
namespace {

using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace

double incomplete_beta_complement(double a, double b, double x) { return boost::math::ibetac(a, b, x, InDouble()); }

double student_t_quantile(double p, double degrees) {
  return quantile(complement(boost::math::students_t_distribution<double, InDouble>(degrees), p / 2));
}

}  // namespace fedstride

#include "core/incomplete_beta.hpp"

#include <boost/math/special_functions/beta.hpp>

namespace fedstride {

namespace {

constexpr auto kInDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>();

}  // namespace

double incomplete_beta(double a, double b, double x) { return boost::math::ibeta(a, b, x, kInDouble); }

double incomplete_beta_complement(double a, double b, double x) { return boost::math::ibetac(a, b, x, kInDouble); }

}  // namespace fedstride

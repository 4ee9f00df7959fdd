// Known epsilons at orders 2 to 128 and 256, of a second program; properties that the bounds must have.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dp/accountants/rdp_orders.hpp"
#include "dp/laws/laws.hpp"

namespace fedstride::test::known_laws_test {
namespace {

template <class Divergence>
double epsilon(double delta, const Divergence& divergence) {
  double least = std::numeric_limits<double>::infinity();
  for (int order = 2; order <= 256; order = order == 128 ? 256 : order + 1)
    least = std::min(least, epsilon_at(Conversion::improved, order, divergence(order), delta));
  return least;
}

}  // namespace

TEST_CASE("epsilons of known settings: discrete Gaussian, Skellam and a Gaussian of the same deviation") {
  const struct {
    DistributedNoise noise;
    double delta, discrete, skellam, gaussian;
  } known[] = {{{1e-4, 0.1, 100, 1, 1 << 20}, 1e-5, 4.759545, 4.759545, 4.752728},
               {{1e-3, 0.1, 100, 1, 1024}, 1e-5, 4.755908, 4.755911, 4.752728},
               {{1e-3, 0.05, 1000, 1, 1 << 16}, 1e-6, 3.166024, 3.166025, 3.134503},
               {{0.1, 0.05, 100, 1, 256}, 1e-5, 2499.2, 16.5225, 10.8017}};
  for (const auto& one : known) {
    const double discrete = epsilon(one.delta, [&](int order) { return DiscreteGaussianLaw().rdp(one.noise, order); });
    const double skellam = epsilon(one.delta, [&](int order) { return SkellamLaw().rdp(one.noise, order); });
    const double ratio = one.noise.clip / (one.noise.local_deviation * std::sqrt(static_cast<double>(one.noise.shares)));
    const double gaussian = epsilon(one.delta, [&](int order) { return order * ratio * ratio / 2; });
    const double digits = one.discrete > 1000 ? 1e-4 : 2e-7;
    CHECK(discrete == doctest::Approx(one.discrete).epsilon(digits));
    CHECK(skellam == doctest::Approx(one.skellam).epsilon(one.discrete > 1000 ? 5e-6 : 2e-7));
    CHECK(gaussian == doctest::Approx(one.gaussian).epsilon(5e-6));
    CHECK(gaussian <= discrete);
    CHECK(gaussian <= skellam);
  }
}

TEST_CASE("a sum of a hundred discrete Gaussians is near one from a deviation of two steps on") {
  CHECK(sum_of_discrete_gaussians_gap(0.5, 100) == doctest::Approx(9.70).epsilon(1e-3));
  CHECK(sum_of_discrete_gaussians_gap(1, 100) == doctest::Approx(5.478e-4).epsilon(1e-3));
  CHECK(sum_of_discrete_gaussians_gap(1.5, 100) == doctest::Approx(2.270e-9).epsilon(1e-3));
  CHECK(sum_of_discrete_gaussians_gap(2, 100) == doctest::Approx(7.157e-17).epsilon(1e-3));
  CHECK(sum_of_discrete_gaussians_gap(0.5, 1) == 0);
}

TEST_CASE("conditional rounding bounds the norm; fewer shares cost more") {
  const DistributedNoise fine{1e-3, 1, 1, 1, 1 << 20};
  CHECK(rounded_norm(fine) == doctest::Approx(1124.1245).epsilon(1e-7));
  for (const int order : {2, 10, 100}) {
    DistributedNoise noise{1e-3, 0.1, 100, 1, 1024};
    const double all = SkellamLaw().rdp(noise, order), all_discrete = DiscreteGaussianLaw().rdp(noise, order);
    noise.shares = 80;
    CHECK(SkellamLaw().rdp(noise, order) > all * 1.24);
    CHECK(DiscreteGaussianLaw().rdp(noise, order) > all_discrete * 1.24);
  }
}

}  // namespace fedstride::test::known_laws_test

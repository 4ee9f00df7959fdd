#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/gaussian_curve.hpp"

namespace fedstride::test::lower_bound_test {

TEST_CASE("One epoch of shuffled lots leaks what Chua et al. show") {
  CHECK(shuffle_epsilon_lower_bound(0.7, 1000, 1e-5) == doctest::Approx(6.528612887277465).epsilon(1e-6));
  CHECK(shuffle_epsilon_lower_bound(0.5, 1000, 1e-5) == doctest::Approx(10.00).epsilon(1e-3));
  CHECK(shuffle_epsilon_lower_bound(1, 1000, 1e-5) == doctest::Approx(2.88).epsilon(2e-3));
  CHECK(shuffle_epsilon_lower_bound(1, 100, 1e-5) == doctest::Approx(4.06).epsilon(2e-3));
}

TEST_CASE("The lower bound is under what holds without amplification, and over the Poisson number") {
  const auto tight = make_part<Accountant>("accountant", "tight");
  for (const double sigma : {0.5, 0.7, 1.0, 2.0})
    for (const std::uint64_t lots : {10, 1000}) {
      const double lower = shuffle_epsilon_lower_bound(sigma, lots, 1e-5);
      const Releases shuffled{.sampling = Sampling::shuffle,
                              .rate = 1 / static_cast<double>(lots),
                              .noise_multiplier = sigma,
                              .count = lots,
                              .passes = 1};
      CHECK(lower <= epsilon_by(tight, {&shuffled, 1}, 1e-5).value + 1e-9);
    }
  const Releases poisson{.rate = 0.001, .noise_multiplier = 0.7, .count = 1000};
  CHECK(shuffle_epsilon_lower_bound(0.7, 1000, 1e-5) > 10 * epsilon_by(tight, {&poisson, 1}, 1e-5).value);
}

TEST_CASE("One lot is one Gaussian release, and noise enough shows nothing") {
  // One event of one threshold is the best test of a single Gaussian: the bound is its exact epsilon.
  CHECK(shuffle_epsilon_lower_bound(1, 1, 1e-5) == doctest::Approx(4.377182).epsilon(1e-5));
  CHECK(shuffle_epsilon_lower_bound(1e6, 100, 1e-5) == 0);
  CHECK_THROWS_AS(shuffle_epsilon_lower_bound(0, 100, 1e-5), Error);
  CHECK_THROWS_AS(shuffle_epsilon_lower_bound(1, 100, 1), Error);
}

}  // namespace fedstride::test::lower_bound_test

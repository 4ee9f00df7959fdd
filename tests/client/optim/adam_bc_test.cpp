#include "client/optim/adam_bc.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::adam_bc_test {
namespace {

/// The positions of a weight that starts at 0 after each of the gradients, whose noise has these deviations.
std::vector<double> path(AdamBc optimizer, const std::vector<float>& gradients, const std::vector<double>& noise) {
  optimizer.initial_rate = 0.001;
  AdamBcState state;
  Vector scratch;
  optimizer.start(state, 1);
  Vector weights(1);
  std::vector<double> points;
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    Scripted once{.gradients = {{gradients[step]}}};
    optimizer.step(state, scratch, weights, once, {.noise = noise[step]});
    points.push_back(weights[0]);
  }
  return points;
}

void check_points(const std::vector<double>& points, const std::vector<double>& expected) {
  REQUIRE(points.size() == expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) CHECK(points[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

}  // namespace

// The means are 1 and 0.39 / 0.19 = 2.05263158, the mean squares 1 and 0.009999 / 0.001999 = 5.002001.
TEST_CASE("the noise's variance is taken off the debiased mean square: 1 - 0.25, 5.002001 - 0.25") {
  check_points(path({}, {1, 3}, {0.5, 0.5}), {-0.00115470054, -0.00209631419});
}

// Variances 0.36 and 0: their debiased mean in the second step is 0.000999 x 0.36 / 0.001999 = 0.179909955... of 5.002001.
TEST_CASE("if the noise changes, its variance is averaged as the squares are") {
  check_points(path({}, {1, 3}, {0.6, 0}), {-0.00125, -0.00218474533});
}

// Mean squares below the noise's 4: both steps divide by the root of 0.25. The second mean is 0.1 / 0.19 = 0.52631579 for 0.1.
TEST_CASE("what is left is at least the floor") {
  AdamBc optimizer;
  optimizer.floor = 0.25;
  check_points(path(optimizer, {1, 0.1F}, {2, 2}), {-0.002, -0.00305263158});
  check_points(path({}, {1e-5F}, {0}), {-0.0001});
}

TEST_CASE("without noise it is Adam without epsilon") { check_points(path({}, {1, 3}, {0, 0}), {-0.001, -0.00191778112}); }

}  // namespace fedstride::test::adam_bc_test

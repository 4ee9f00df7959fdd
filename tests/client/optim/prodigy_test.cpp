#include "client/optim/prodigy.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::prodigy_test {
namespace {

using Run = Stepped<Prodigy>;

}  // namespace

// f = x_1^2 / 2 + x_2^2 from (1, -3), d = 0.1, beta1 = 0.5, beta2 = 0.25, so beta3 = 0.5.
//   1: g = (1, -6), m = 0.05 g, sqrt(v) = 0.1 sqrt(0.75) |g|, so both weights move by 0.1 x 0.5 / sqrt(0.75) = 0.0577350.
//      x = x_0: r = 0. |s|_1 = 0.5 x 0.01 x 7 = 0.035.
//   2: g = (0.942265, -5.884530), <g, x_0 - x> = 0.0577350 x 6.826795 = 0.394145, r = 0.005 x 0.394145 = 0.00197073,
//      |s|_1 = 0.0175 + 0.005 x 6.826795 = 0.0516340, quotient 0.0381672: d stays.
// The other steps are those of the same formulas in double precision, in plain Python.
TEST_CASE("Prodigy by hand: Adam's steps, and a distance that grows to r / |s|_1") {
  Run run(Prodigy({.initial_distance = 0.1, .beta1 = 0.5, .beta2 = 0.25}), {1, -3});
  const Quadratic bowl{.curvature = {1, 2}, .centre = {0, 0}};
  const double distances[] = {0.1, 0.1, 0.1, 0.1, 0.160979335, 0.275192875, 0.423084135};
  const double first[] = {0.942264974, 0.864203026, 0.774073855, 0.676363263, 0.529291016, 0.287481277};
  const double second[] = {-2.94226497, -2.86460581, -2.77580238, -2.68075753, -2.54007582, -2.31389491};
  for (std::size_t k = 0; k < 6; ++k) {
    CAPTURE(k);
    CHECK(run.step(bowl) == doctest::Approx(distances[k]).epsilon(1e-5));
    CHECK(run.weights[0] == doctest::Approx(first[k]).epsilon(1e-5));
    CHECK(run.weights[1] == doctest::Approx(second[k]).epsilon(1e-5));
    CHECK(run.state.distance == doctest::Approx(distances[k + 1]).epsilon(1e-5));
  }
}

// For a convex loss r <= |s|_1 |x_0 - x*|_inf, so d never exceeds the largest distance of a weight from its solution.
TEST_CASE("from a millionth the distance grows to the solution's order, and never beyond the solution") {
  Run run(Prodigy{}, {3, -1});
  const Quadratic bowl{.curvature = {1, 2}, .centre = {0, 0}};
  double before = run.state.distance;
  CHECK(before == 1e-6);
  for (int k = 0; k < 300; ++k) {
    run.step(bowl);
    CHECK(run.state.distance >= before);
    before = run.state.distance;
    REQUIRE(before <= 3 * (1 + 1e-5));
  }
  CHECK(before > 0.3);
  CHECK(std::abs(run.weights[0]) < 0.5);
}

TEST_CASE("scaling the loss by a thousand does not change the steps, and epsilon is added outside the root, times d") {
  Run one(Prodigy{}, {3, -1}), thousand(Prodigy{}, {3, -1});
  const Quadratic bowl{.curvature = {1, 2}, .centre = {0, 0}}, steep{.curvature = {1000, 2000}, .centre = {0, 0}};
  for (int k = 0; k < 60; ++k) {
    one.step(bowl);
    thousand.step(steep);
    CHECK(thousand.state.distance == doctest::Approx(one.state.distance).epsilon(1e-3));
    CHECK(thousand.weights[0] == doctest::Approx(one.weights[0]).epsilon(1e-3));
  }
  // m = 0.1 d g, sqrt(v) = sqrt(0.001) d g: with epsilon = sqrt(0.001) g the first step is half as long.
  const double length = 0.1 / std::sqrt(0.001);
  Scripted script{.gradients = {{1}}};
  Run half(Prodigy({.initial_distance = 0.5, .epsilon = std::sqrt(0.001)}), {0}), whole(Prodigy({.initial_distance = 0.5}), {0});
  half.step(script);
  whole.step(script);
  CHECK(whole.weights[0] == doctest::Approx(-0.5 * length));
  CHECK(half.weights[0] == doctest::Approx(-0.25 * length));
}

TEST_CASE("without a gradient there is no quotient, and x_0 stays what the client first received") {
  Run run(Prodigy{}, {1});
  Scripted zeros{.gradients = {{0}}};
  run.step(zeros);
  CHECK(run.state.distance == 1e-6);
  CHECK(run.weights[0] == 1);
  run.optimizer.hear(run.state, {});
  run.weights[0] = 5;
  run.step(zeros);
  CHECK(run.state.origin[0] == 1);
}

}  // namespace fedstride::test::prodigy_test

#include "client/optim/dog.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::dog_test {
namespace {

using Run = Stepped<Dog>;

}  // namespace

// f = |x|^2 / 2 from (3, 4), |x_0| = 5, r = 0.5 (1 + 5) = 3.
//   1: |g| = 5, G = 25: rate 3/5 = 0.6, x = 0.4 (3, 4), at distance 3 from x_0
//   2: |g| = 2, G = 29: rate 3/sqrt(29) = 0.557086015, |x| = 2 (1 - 0.557086015) = 0.88582797, distance 4.11417203
//   3: G = 29.7846912: rate 4.11417203/5.45753527 = 0.753851662, |x| = 0.218045084, distance 4.78195492
//   4: G = 29.8322348: rate 0.875512967
TEST_CASE("DoG by hand: distance from the first weights over the root of all squared gradients") {
  Run run(Dog({.initial_movement = 0.5}), {3, 4});
  const Quadratic bowl{.curvature = {1, 1}, .centre = {0, 0}};
  const double rates[] = {0.6, 0.557086015, 0.753851662, 0.875512967};
  const double norms[] = {2, 0.88582797, 0.218045084, 0.0271437859};
  for (std::size_t t = 0; t < 4; ++t) {
    CHECK(run.step(bowl) == doctest::Approx(rates[t]).epsilon(1e-6));
    CHECK(run.weights[0] == doctest::Approx(0.6 * norms[t]).epsilon(1e-5));
    CHECK(run.weights[1] == doctest::Approx(0.8 * norms[t]).epsilon(1e-5));
  }
}

// From 0, r = 1: to -1, back by 1/sqrt(2) to -0.29, and on with the largest distance so far, 1, over sqrt(3).
TEST_CASE("the distance is the largest so far, also after the weights have come back") {
  Run run(Dog({.initial_movement = 1}), {0});
  Scripted script{.gradients = {{1}, {-1}, {1}}};
  CHECK(run.step(script) == doctest::Approx(1));
  CHECK(run.step(script) == doctest::Approx(0.70710678));
  CHECK(run.weights[0] == doctest::Approx(-0.29289322));
  CHECK(run.step(script) == doctest::Approx(0.57735027));
}

TEST_CASE("the first step is initial-movement (1 + |x_0|) long, whatever the gradient") {
  for (const float length : {1e-3F, 1.0F, 1e4F}) {
    Run run(Dog{}, {0.003F, 0});
    Scripted script{.gradients = {{0, length}}};
    run.step(script);
    CHECK(run.weights[1] == doctest::Approx(-1.003e-6).epsilon(1e-5));
  }
  Run none(Dog{}, {1});
  Scripted zeros{.gradients = {{0}}};
  CHECK(none.step(zeros) == 0);
  CHECK(none.weights[0] == 1);
}

// The received model of a later round counts as an iterate.
TEST_CASE("x_0 stays what the client first received, and a model received counts toward the distance") {
  Run run(Dog({.initial_movement = 1}), {0});
  Scripted script{.gradients = {{1}, {1}}};
  run.step(script);
  run.optimizer.hear(run.state, {});
  run.weights[0] = 5;
  CHECK(run.step(script) == doctest::Approx(5 / std::sqrt(2)));
  CHECK(run.state.origin[0] == 0);
}

TEST_CASE("scaling the loss by a thousand does not change the steps") {
  Run one(Dog({.initial_movement = 1e-3}), {1, 1}), thousand(Dog({.initial_movement = 1e-3}), {1, 1});
  const Quadratic bowl{.curvature = {1, 3}, .centre = {0, 2}}, steep{.curvature = {1000, 3000}, .centre = {0, 2}};
  for (int t = 0; t < 60; ++t) {
    const double rate = one.step(bowl);
    CHECK(1000 * thousand.step(steep) == doctest::Approx(rate).epsilon(1e-3));
    CHECK(thousand.weights[0] == doctest::Approx(one.weights[0]).epsilon(1e-3));
    CHECK(thousand.weights[1] == doctest::Approx(one.weights[1]).epsilon(1e-3));
  }
  CHECK(std::abs(one.weights[1] - 2) < 0.5);
}

}  // namespace fedstride::test::dog_test

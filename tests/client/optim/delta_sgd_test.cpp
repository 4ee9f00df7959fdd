#include "client/optim/delta_sgd.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::delta_sgd_test {
namespace {

using Run = Stepped<DeltaSgd>;

}  // namespace

// From (1, 1) with curvatures (1, 10). Step 1: rate 0.2, x_1 = (0.8, -1). Step 2: |dx| = |(-0.2, -2)|, |dg| = |(-0.2, -20)|, quotient
// 0.100493732, below sqrt(1.1) 0.2 = 0.20976177. Step 3: theta = 0.502468658, sqrt(1 + 0.1 theta) 0.100493732 = 0.102987537, quotient
// 0.10031628. Steps 4 to 6: dg is almost all along the flat axis, where the quotient is near 1, so the growth decides; theta = 0.998234.
TEST_CASE("Delta-SGD's rates and iterates with the authors' constants, by hand") {
  Run run(DeltaSgd{}, {1, 1});
  const Quadratic bowl{.curvature = {1, 10}, .centre = {0, 0}};
  const double rates[] = {0.2, 0.100493732, 0.10031628, 0.105204157, 0.110583154, 0.116249823};
  const double first[] = {0.8, 0.719605015, 0.647416917, 0.579305966, 0.515244485, 0.455347405};
  const double second[] = {-1, 0.0049373165, -1.5615723e-5};
  for (std::size_t k = 0; k < 6; ++k) {
    CAPTURE(k);
    CHECK(run.step(bowl) == doctest::Approx(rates[k]).epsilon(1e-5));
    CHECK(run.weights[0] == doctest::Approx(first[k]).epsilon(1e-6));
    if (k < 3) CHECK(std::abs(run.weights[1] - second[k]) < 3e-7);
  }
}

// Curvature 0.1 allows a rate of 10, so the rate grows from 0.2 by sqrt(1.1) and then by sqrt(1 + 0.1 x 1.0488088) = 1.0511333.
TEST_CASE("the rate grows by sqrt(1 + delta theta) a step at most") {
  Run run(DeltaSgd{}, {1});
  const Quadratic flat{.curvature = {0.1F}, .centre = {0}};
  CHECK(run.step(flat) == doctest::Approx(0.2));
  CHECK(run.step(flat) == doctest::Approx(0.20976177));
  CHECK(run.step(flat) == doctest::Approx(0.22048658));
  Run fixed(DeltaSgd({.delta = 0}), {1});
  for (int k = 0; k < 5; ++k) CHECK(fixed.step(flat) == doctest::Approx(0.2));
}

TEST_CASE("a step asks for its batch at the last iterate and at the present one") {
  Run run(DeltaSgd({.initial_rate = 0.5}), {1});
  // The first step's pair, both at 1; then the second batch: gradient 2 at 1, gradient -1 at 0.
  Scripted script{.gradients = {{2}, {2}, {2}, {-1}}};
  run.step(script);
  CHECK(run.weights[0] == 0);
  CHECK(run.step(script) == doctest::Approx(1.0 / 3));
  CHECK(script.asked_at == std::vector<std::vector<float>>{{1}, {1}, {1}, {0}});
  CHECK(run.weights[0] == doctest::Approx(1.0 / 3));
}

TEST_CASE("without movement or without a change of gradient there is no quotient, and the rate grows") {
  Run still(DeltaSgd{}, {1});
  Scripted zeros{.gradients = {{0}}};
  CHECK(still.step(zeros) == doctest::Approx(0.2));
  CHECK(still.step(zeros) == doctest::Approx(0.20976177));
  Run steady(DeltaSgd{}, {1});
  Scripted same{.gradients = {{3}}};
  CHECK(steady.step(same) == doctest::Approx(0.2));
  CHECK(steady.step(same) == doctest::Approx(0.20976177));
  // Under privacy two lots differ although the weights have not moved.
  Run noisy(DeltaSgd{}, {1});
  Scripted lots{.gradients = {{1}, {-1}}};
  CHECK(noisy.step(lots) == doctest::Approx(0.2));
}

// gamma / 2 x |dx| / |dg| is between gamma / 2 over the largest curvature and gamma / 2 over the smallest.
TEST_CASE("the rate settles between the inverse curvatures, times gamma / 2") {
  for (const double gamma : {2.0, 1.0}) {
    Run run(DeltaSgd({.initial_rate = 5, .gamma = gamma}), {1, 1});
    const Quadratic bowl{.curvature = {1, 10}, .centre = {0, 0}};
    run.step(bowl);
    for (int k = 1; k < 60; ++k) {
      const double rate = run.step(bowl);
      CHECK(rate > gamma / 2 * 0.0999);
      CHECK(rate < gamma / 2 * 1.0001);
    }
  }
}

TEST_CASE("a loss a thousand times as large takes a thousandth of the rate, and the same steps") {
  Run one(DeltaSgd({.initial_rate = 0.2}), {1, 1}), thousand(DeltaSgd({.initial_rate = 2e-4}), {1, 1});
  const Quadratic bowl{.curvature = {1, 3}, .centre = {0, 2}}, steep{.curvature = {1000, 3000}, .centre = {0, 2}};
  for (int k = 0; k < 10; ++k) {
    const double rate = one.step(bowl);
    CHECK(1000 * thousand.step(steep) == doctest::Approx(rate).epsilon(1e-4));
    CHECK(thousand.weights[0] == doctest::Approx(one.weights[0]).epsilon(1e-4));
  }
}

// dx = rate x g_1. Noise of the same deviation in all gradients makes |dg| sqrt(2) |g_1|: the rate falls by gamma / (2 sqrt(2)).
TEST_CASE("on noise alone the rate falls by a factor of gamma / sqrt(8) a step") {
  constexpr std::size_t kSize = 4096;
  std::uint32_t state = 1;
  const auto noise = [&](const float*, GradientSink sink) {
    std::vector<float> values(kSize);
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8) / 8388608.0F - 1;
    }
    return sink(0, values);
  };
  Run run(DeltaSgd{}, std::vector<float>(kSize));
  run.step(noise);
  for (int k = 1; k < 6; ++k) CHECK(run.step(noise) == doctest::Approx(0.2 * std::pow(0.5, 0.5 * k)).epsilon(0.05));
}

}  // namespace fedstride::test::delta_sgd_test

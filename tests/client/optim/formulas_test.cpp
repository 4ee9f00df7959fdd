// Each rule against numbers computed by hand.
#include <doctest/doctest.h>

#include "client/optim/adam.hpp"
#include "client/optim/ema.hpp"
#include "client/optim/heavy_ball.hpp"
#include "client/optim/sgd.hpp"
#include "tests/client/optim/gradients.hpp"

namespace fedstride::test::formulas_test {
namespace {

/// The positions of a weight that starts at 0 after each of the gradients.
template <class T>
std::vector<double> path(T optimizer, const std::vector<float>& gradients, double rate = 0.1) {
  optimizer.initial_rate = rate;
  typename T::State state;
  Vector scratch;
  optimizer.start(state, 1);
  Vector weights(1);
  std::vector<double> points;
  for (const float gradient : gradients) {
    Scripted once{.gradients = {{gradient}}};
    const StepReport report = optimizer.step(state, scratch, weights, once, Progress{});
    CHECK(report.learning_rate == rate);
    CHECK(report.accepted);
    CHECK(report.error == 0);
    points.push_back(weights[0]);
  }
  return points;
}

void check_path(const std::vector<double>& points, const std::vector<double>& expected, double tolerance = 1e-6) {
  REQUIRE(points.size() == expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) CHECK(points[i] == doctest::Approx(expected[i]).epsilon(tolerance));
}

}  // namespace

TEST_CASE("sgd goes rate times gradient downhill") { check_path(path(Sgd{}, {1, -3, 0}), {-0.1, 0.2, 0.2}); }

TEST_CASE("heavy ball keeps c of its last step: m = 1, 1.6, 1.96 for c = 0.6") {
  check_path(path(HeavyBall{}, {1, 1, 1}), {-0.1, -0.26, -0.456});
}

TEST_CASE("heavy ball moves 1/(1 - c) times as far as SGD in the long run") {
  HeavyBall heavy_ball;
  heavy_ball.momentum = 0.75;
  const auto points = path(heavy_ball, std::vector<float>(80, 1.0F));
  CHECK(points[79] - points[78] == doctest::Approx(-0.4).epsilon(1e-4));
}

TEST_CASE("heavy ball without momentum is SGD") {
  HeavyBall heavy_ball;
  heavy_ball.momentum = 0;
  check_path(path(heavy_ball, {1, -3, 0}), {-0.1, 0.2, 0.2});
}

// beta = 0.9: v = 0.1, 0.39, -0.149; divided by 0.1, 0.19, 0.271: 1, 2.0526316, -0.5498155
TEST_CASE("the exponential average is debiased by 1 - beta^t") {
  check_path(path(Ema{}, {1, 3, -5}), {-0.1, -0.30526316, -0.25028161});
}

TEST_CASE("a debiased average of equal gradients is that gradient from the first step on") {
  check_path(path(Ema{}, {2, 2, 2, 2}), {-0.2, -0.4, -0.6, -0.8});
}

// Second step: m = 0.39, m / 0.19 = 2.05263158; v = 0.009999, v / 0.001999 = 5.00200100, root 2.23651537.
TEST_CASE("adam divides the debiased mean by the root of the debiased mean square") {
  check_path(path(Adam{}, {1, 3}, 0.001), {-0.001, -0.00191778111});
}

TEST_CASE("adam adds epsilon outside the root: a gradient of epsilon goes half a rate") {
  check_path(path(Adam{}, {1e-8F}, 0.001), {-0.0005}, 1e-5);
}

TEST_CASE("adam's first step is as long as the rate for any gradient") {
  check_path(path(Adam{}, {1e-3F}), {-0.1}, 1e-4);
  check_path(path(Adam{}, {-1e4F}), {0.1}, 1e-4);
}

}  // namespace fedstride::test::formulas_test

// Every optimizer of the registry against the formulas of its paper.
#include "client/optim/optimizer.hpp"
#include "tests/client/optim/gradients.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_optimizers_test {
namespace {

// Where three steps down the bowl (x - 1)^2 / 2 + 10 (y + 1)^2 / 2 from (0, 0) lead: x, y, x, y, x, y. The learning rate is 0.07; other
// settings have their defaults.
const KnownAnswers<std::vector<double>> kKnown = {
    {"adadp", {0, 0, 0.06200775, -0.530775, 0.120614612, -0.781396479}},
    {"sgd", {0.07, -0.7, 0.1351, -0.91, 0.195643, -0.973}},
    {"heavy-ball", {0.07, -0.7, 0.1771, -1.33, 0.298963, -1.477}},
    {"ema", {0.07, -0.7, 0.137421053, -1.142105263, 0.202244125, -1.384365896}},
    {"adam", {0.069999999, -0.07, 0.139821731, -0.139821732, 0.209325529, -0.209325531}},
    {"adambc", {0.07, -0.07, 0.139821733, -0.139821733, 0.209325531, -0.209325531}},
    {"pooled", {0.062158865, -0.532935362, 0.132982518, -0.823344477, 0.204863883, -0.94128814}},
    {"delta-sgd", {0.07, -0.7, 0.138277456, -0.920249858, 0.204777138, -0.981793555}},
    {"fedsps", {0.108910891, -1.08910891, 0.599009901, -0.599009901, 0.64268209, -1.03573179}},
    {"dog", {9.9503719e-08, -9.9503719e-07, 1.69863501e-07, -1.69863438e-06, 2.67934274e-07, -2.67934061e-06}},
    {"prodigy", {3.16227666e-06, -3.16227756e-06, 7.41186705e-06, -7.4118688e-06, 1.51735257e-05, -1.51735291e-05}},
    {"schedule-free", {0.035, -0.35, 0.0691016667, -0.610166667, 0.102323865, -0.799365}},
};

}  // namespace

TEST_CASE("every optimizer takes the steps of its paper") {
  for_each_known<Optimizer>(kKnown, [](Optimizer& optimizer, const std::vector<double>& expected) {
    set_if_there(optimizer, "learning-rate", 0.07);
    const auto state = optimizer->make_state();
    optimizer->start(*state, 2);
    const Quadratic bowl{.curvature = {1, 10}, .centre = {1, -1}};
    double loss = 0;
    const auto with_loss = [&](const float* at, GradientSink sink) {
      loss = (at[0] - 1) * (at[0] - 1) / 2 + 5 * (at[1] + 1) * (at[1] + 1);
      return bowl(at, sink);
    };
    Vector scratch, weights(2);
    std::vector<double> path;
    for (int step = 0; step < 3; ++step) {
      optimizer->step(*state, scratch, weights, Gradient(with_loss, loss), {});
      path.insert(path.end(), weights.begin(), weights.end());
    }
    check_close(path, expected);
  });
}

}  // namespace fedstride::test::known_optimizers_test

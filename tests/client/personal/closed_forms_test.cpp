#include <doctest/doctest.h>

#include <cmath>

#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "client/personal/ditto.hpp"
#include "client/personal/local_layers.hpp"
#include "client/personal_at_client.hpp"

namespace fedstride::test::closed_forms_test {
namespace {

constexpr double kRate = 0.05;
constexpr double kA[] = {1, 10};
constexpr double kB[] = {0, 1};

Sgd sgd(double decay = 0) {
  Sgd optimizer;
  optimizer.initial_rate = kRate;
  optimizer.weight_decay = decay;
  return optimizer;
}

Ditto ditto(double lambda) {
  Ditto personal;
  personal.lambda = lambda;
  return personal;
}

// A second pass of client k, which minimizes a_k (v - b_k)^2 / 2, with the model `theta` received.
double after_pass(const Personal& personal, const Optimizer& optimizer, std::size_t client, double theta, int steps,
                  Vector& kept) {
  const PersonalAtClient at(*personal, *optimizer, {.own = {{0, 1}}, .trained = {{0, 1}}});
  const Vector received(1, static_cast<float>(theta));
  Vector weights = received;
  at.restore_own(kept, weights);
  auto state = optimizer->make_state();
  Vector scratch;
  optimizer->start(*state, 1);
  const CorrectedGradient corrected = at.second_pass(received);
  const auto gradient = [&](const float* where, GradientSink sink) {
    const auto slope = static_cast<float>(kA[client] * (where[0] - kB[client]));
    return corrected.emit(where, 0, {&slope, 1}, sink);
  };
  for (int i = 0; i < steps; ++i) optimizer->step(*state, scratch, weights, Gradient(gradient), {});
  at.keep_own(weights, kept);
  return weights[0];
}

}  // namespace

// A step takes v to v - eta (a (v - b) + lambda (v - theta)), whose fixed point is v* = (a b + lambda theta) / (a + lambda): n
// steps leave (1 - eta (a + lambda))^n of the distance.
TEST_CASE("Ditto's personal models follow the closed form from round to round") {
  for (const double lambda : {0.0, 0.1, 1.0, 5.0})
    for (const std::size_t client : {0, 1})
      for (const int steps : {1, 3, 20}) {
        Vector kept;
        double v = 0.3;
        for (const double theta : {0.3, 0.5, 0.9}) {  // the models of three rounds
          const double fixed = (kA[client] * kB[client] + lambda * theta) / (kA[client] + lambda);
          v = fixed + (v - fixed) * std::pow(1 - kRate * (kA[client] + lambda), steps);
          CHECK(after_pass(ditto(lambda), sgd(), client, theta, steps, kept) == doctest::Approx(v).epsilon(1e-5));
        }
      }
}

TEST_CASE("Ditto's limit: between the client's own optimum and the federation's model, with the optimizer's weight decay") {
  for (const std::size_t client : {0, 1}) {
    const double theta = 10.0 / 11;
    for (const double lambda : {0.1, 1.0, 5.0}) {
      Vector kept;
      const double fixed = (kA[client] * kB[client] + lambda * theta) / (kA[client] + lambda + 0.5);
      CHECK(after_pass(ditto(lambda), sgd(0.5), client, theta, 2000, kept) == doctest::Approx(fixed).epsilon(1e-5));
    }
    // Without a pull the federation has no effect: the limit is the client's own optimum.
    Vector kept, other;
    CHECK(after_pass(ditto(0), sgd(), client, theta, 2000, kept) == doctest::Approx(kB[client]).epsilon(1e-5));
    CHECK(after_pass(ditto(0), sgd(), client, theta, 1, kept) == after_pass(ditto(0), sgd(), client, theta, 2001, other));
    CHECK(after_pass(ditto(0), sgd(), client, -7, 1, kept) == doctest::Approx(kB[client]).epsilon(1e-5));
  }
}

TEST_CASE("each epoch of FedRep trains one kind of layers, each of FedPer all") {
  LocalLayers layers;
  const auto held = [&](int epoch) {
    const Personal personal(layers);
    const Optimizer optimizer = sgd();
    const PersonalAtClient at(*personal, *optimizer, {.own = {{16, 4}}, .shared = {{0, 8}}, .trained = {{0, 8}, {16, 4}}});
    return at.held(epoch).empty() ? -1 : static_cast<int>(at.held(epoch)[0].offset);
  };
  CHECK(held(0) == -1);
  layers.first = 2;
  CHECK(held(0) == 0);
  CHECK(held(1) == 0);
  CHECK(held(2) == 16);
}

TEST_CASE("a gradient is 0 where the weights are held, decay and pull included") {
  const std::vector<ParameterRange> held{{1, 2}, {3000, 1}};
  const std::vector<ParameterRange> decayed{{0, 5000}};
  const Vector at(5000, 2), anchor(5000, 1), gradient(5000, 0.5F);
  const CorrectedGradient corrected{.anchor = anchor.data(), .pull = 1, .decay = 0.25, .decayed = decayed, .held = held};
  Vector seen(5000, -1);
  corrected.emit(at.data(), 0, view(gradient), [&](std::size_t offset, std::span<const float> stretch) {
    std::copy(stretch.begin(), stretch.end(), seen.begin() + static_cast<std::ptrdiff_t>(offset));
    return 0.0;
  });
  for (std::size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == (i == 1 || i == 2 || i == 3000 ? 0.0F : 2.0F));
}

}  // namespace fedstride::test::closed_forms_test

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::layer_norm_test {
namespace {

constexpr Shape kPicture{9, 8, 3};

}  // namespace

TEST_CASE("layer norm gives the channels of each place mean 0 and variance 1, then each its scale and shift") {
  // Two places of four channels: 1 3 5 7 (mean 4, variance 5) and 10 10 10 14 (11 and 3).
  const std::vector<double> in{1, 3, 5, 7, 10, 10, 10, 14}, scale{1, 2, 3, 4}, shift{0, 1, 0, -1};
  std::vector<double> out(8);
  reference::Place<double> at{.in = {1, 2, 4}, .out = {1, 2, 4}, .tensors = {}, .gradients = {}, .mask = {}};
  at.tensors.scale = scale.data();
  at.tensors.shift = shift.data();
  reference::forward(LayerNorm{}, at, in.data(), out.data());
  const double a = std::sqrt(5 + 1e-5), b = std::sqrt(3 + 1e-5);
  const double expected[] = {-3 / a, -2 / a + 1, 3 / a, 12 / a - 1, -1 / b, -2 / b + 1, -3 / b, 12 / b - 1};
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("the twin's gradient through layer norm agrees with finite differences") {
  check_against_finite_differences("layernorm | dense classes", {3, 4, 4});
  check_against_finite_differences("conv 4 3 | layernorm | tanh | conv 6 2 | layernorm | dense classes", {6, 6, 2});
  check_against_finite_differences("dense 9 | layernorm | gelu | dense 8 | layernorm | relu | dense classes", {1, 1, 5});
}

TEST_CASE("the network's layer norm agrees with the slow twin for all channel counts") {
  for (const int channels : {3, 4, 8, 16, 17, 33, 64})
    check_against_twin("conv " + std::to_string(channels) + " 3 | layernorm | relu | conv " + std::to_string(channels) +
                           " 2 nobias | layernorm | maxpool 2 2 | dense classes",
                       kPicture, 3);
  check_against_twin("layernorm | conv 4 3 | relu | dense classes", kPicture, 4);
  for (const int rows : {1, 13, 40})
    check_against_twin("dense 33 nobias | layernorm | gelu | dense 20 | layernorm | relu | dense classes", {1, 1, 21}, rows);
}

TEST_CASE("layer norm of values far from zero keeps their differences") {
  Setting setting("layernorm | dense classes", kPicture, 5, 3);
  for (float& value : setting.inputs) value += 1000;  // single precision has steps of 6e-5 here
  Network network(setting.model, 3);
  const auto found = network_gradient(network, setting);
  const auto expected = setting.expected();
  for (const auto& parameter : setting.model.parameters()) {
    CAPTURE(parameter.name);
    CHECK(difference(parameter, found.gradient, expected.gradient) < 5e-4);
  }
}

TEST_CASE("norms and weighted sums with layer norm are those of materialized gradients, frozen or not") {
  const char* line = "conv 6 3 | layernorm | relu | maxpool 2 2 | conv 20 2 | layernorm | relu | dense classes";
  for (const char* names : {"", "ln1", "ln2", "conv1,ln1", "conv1,conv2", "conv1,ln1,conv2,ln2"})
    check_against_materialized(line, kPicture, 6, names);
  const char* rows = "dense 33 | layernorm | tanh | dense 20 | layernorm | relu | dense classes";
  for (const char* names : {"", "ln1", "fc1,ln1", "fc1,fc2"}) check_against_materialized(rows, {1, 1, 21}, 14, names);
}

}  // namespace fedstride::test::layer_norm_test

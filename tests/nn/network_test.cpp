#include "nn/network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/floating_point.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::network_test {
namespace {

constexpr Shape kPicture{9, 8, 3};

}  // namespace

TEST_CASE("a dense network's gradient is its slow twin's for every number of rows up to 17") {
  for (int rows = 1; rows <= 17; ++rows) check_against_twin("dense 32 | relu | dense classes", {1, 1, 16}, rows);
}

TEST_CASE("dense layers of odd widths, with and without biases, agree with the slow twin") {
  check_against_twin("dense classes", {1, 1, 7}, 3);
  check_against_twin("dense classes nobias", {1, 1, 1}, 2, 2);
  check_against_twin("dense 33 nobias | tanh | dense 17 | relu | dense 500 | tanh | dense classes nobias", {1, 1, 54}, 13);
  check_against_twin("dense 100 | relu | dense classes", {1, 1, 70}, 40, 21);
  check_against_twin("relu | dense 1 | dense classes", {1, 1, 21}, 5);
}

TEST_CASE("a large dense batch, cut into blocks of rows and pieces, agrees with the slow twin") {
  check_against_twin("dense 300 | relu | dense 200 | relu | dense classes", {1, 1, 500}, 101, 10);
}

TEST_CASE("a convolution with any mix of ReLU and max-pool agrees with the slow twin") {
  for (const char* line :
       {"conv 4 3 | dense classes", "conv 4 3 | relu | dense classes", "conv 5 3 | maxpool 2 2 | dense classes",
        "conv 6 3 | relu | maxpool 3 2 | dense classes", "conv 6 3 | maxpool 3 2 | relu | dense classes",
        "conv 6 3 nobias | relu | maxpool 2 1 | dense classes", "conv 3 3 | tanh | maxpool 2 2 | dense classes",
        "conv 3 3 | relu | avgpool 2 2 | dense classes", "conv 3 1 | relu | relu | maxpool 3 3 | tanh | dense classes",
        "maxpool 2 2 | conv 3 2 | dense classes", "avgpool 3 2 | conv 3 2 | relu | dense classes"})
    check_against_twin(line, kPicture, 3);
}

TEST_CASE("strides, paddings and kernels of all sizes agree with the slow twin") {
  for (const int kernel : {1, 2, 3, 5, 8})
    for (const int stride : {1, 2, 3})
      for (int padding = 0; padding < std::min(kernel, 3); ++padding)
        check_against_twin("conv 7 " + std::to_string(kernel) + " stride " + std::to_string(stride) + " pad " +
                               std::to_string(padding) + " | relu | conv 4 2 pad 1 | relu | dense classes",
                           kPicture, 2);
}

TEST_CASE("convolutions whose gradients are hardly ever zero agree with the slow twin, with norms and weighted sums") {
  for (const int kernel : {1, 2, 3, 5})
    for (const int stride : {1, 2})
      for (int padding = 0; padding < std::min(kernel, 3); ++padding) {
        const std::string line = "conv 7 " + std::to_string(kernel) + " stride " + std::to_string(stride) + " pad " +
                                 std::to_string(padding) + " | tanh | conv 4 2 pad 1 | dense classes";
        check_against_twin(line, kPicture, 3);
        check_against_materialized(line, kPicture, 3);
      }
  // By Winograd's kernels: sides that are and are not whole tiles, channels that are and are not whole blocks.
  for (const Shape picture : {Shape{16, 16, 3}, Shape{13, 18, 3}})
    for (const int channels : {16, 24, 50, 64}) {
      const std::string line = "conv 16 3 1 1 | tanh | conv " + std::to_string(channels) +
                               " 3 | groupnorm 2 | conv 16 3 1 1 nobias | tanh | avgpool 2 2 | dense classes";
      check_against_twin(line, picture, 4);
      check_against_materialized(line, picture, 3);
      check_against_materialized(line, picture, 3, "conv1,conv2");
    }
}

TEST_CASE("channel counts on both sides of a vector's length agree with the slow twin") {
  for (const int channels : {1, 15, 16, 17, 31, 33, 64, 65})
    check_against_twin("conv " + std::to_string(channels) + " 3 | relu | maxpool 2 2 | conv " + std::to_string(channels) +
                           " 3 | relu | dense classes",
                       {9, 9, 2}, 2);
}

TEST_CASE("two padded, pooled convolutions like those of the CIFAR-10 network agree with the slow twin") {
  check_against_twin("conv 64 3 | relu | maxpool 3 2 | conv 64 3 | relu | maxpool 3 2 | dense 20 | relu | dense classes",
                     {20, 20, 3}, 5);
  check_against_twin("conv 32 3 pad 1 | relu | conv 48 3 pad 1 | relu | maxpool 2 2 | dense 20 | relu | dense classes",
                     {11, 13, 3}, 3);
}

TEST_CASE("dropout draws the twin's masks, after convolutions and between dense layers, and none in evaluation") {
  const char* line = "conv 5 3 | relu | maxpool 2 2 | dropout 0.25 | dense 37 | relu | dropout 0.5 | dense classes";
  check_against_twin(line, kPicture, 4);
  const Setting setting(line, kPicture, 5, 4);
  Network network(setting.model, 4);
  const auto inputs = network.inputs(4);
  std::copy(setting.inputs.begin(), setting.inputs.end(), inputs.begin());
  CHECK(network.evaluate(setting.weights.data(), setting.labels).loss_sum ==
        doctest::Approx(setting.expected({}, false).loss_sum).epsilon(1e-5));
}

TEST_CASE("evaluation gives the twin's loss, hits and classes, whatever the block") {
  const Setting setting("conv 20 3 | relu | maxpool 2 2 | dense 30 | relu | dense classes", kPicture, 10, 33);
  const auto expected = setting.expected();
  Network network(setting.model, 40);
  const auto inputs = network.inputs(33);
  std::copy(setting.inputs.begin(), setting.inputs.end(), inputs.begin());
  std::vector<Label> predicted(33);
  const auto loss = network.evaluate(setting.weights.data(), setting.labels, predicted);
  CHECK(loss.loss_sum == doctest::Approx(expected.loss_sum).epsilon(1e-5));
  CHECK(loss.correct == expected.correct);
  for (std::size_t r = 0; r < 33; ++r) {
    const auto scores = expected.scores.begin() + static_cast<std::ptrdiff_t>(r) * 10;
    CHECK(predicted[r] == std::max_element(scores, scores + 10) - scores);
  }
}

TEST_CASE("every parameter is reported once, gaps never, and the sink's answers are added up") {
  const Setting setting("conv 65 3 | relu | maxpool 2 2 | dense 333 | relu | dense classes", kPicture, 7, 6);
  Network network(setting.model, 6);
  const auto outcome = network_gradient(network, setting);
  std::vector<int> expected(setting.model.size(), 0);
  for (const auto& parameter : setting.model.parameters())
    for (std::size_t i = 0; i < parameter.size; ++i) expected[parameter.offset + i] = 1;
  CHECK(outcome.reported == expected);
  CHECK(outcome.loss.sink_sum == static_cast<double>(setting.model.parameter_count()));
}

TEST_CASE("frozen layers are reported as zeros and change no other gradient") {
  const char* line = "conv 6 3 | relu | maxpool 2 2 | conv 5 2 | relu | dense 20 | relu | dense classes";
  const Setting setting(line, kPicture, 5, 4);
  Network free(setting.model, 4);
  const auto free_outcome = network_gradient(free, setting);
  for (const char* names : {"conv1", "conv1,conv2", "conv2", "fc1", "conv1,fc2", "conv1,conv2,fc1", "conv1,conv2,fc1,fc2"}) {
    CAPTURE(names);
    const auto frozen = setting.model.frozen(names);
    Network network(setting.model, 4, frozen);
    const auto outcome = network_gradient(network, setting);
    std::vector<float> expected = free_outcome.gradient;
    std::vector<int> reported(setting.model.size(), 0);
    for (const auto& parameter : setting.model.parameters()) {
      const auto first = static_cast<std::ptrdiff_t>(parameter.offset), size = static_cast<std::ptrdiff_t>(parameter.size);
      std::fill_n(reported.begin() + first, size, 1);
      if (frozen[static_cast<std::size_t>(parameter.layer)]) std::fill_n(expected.begin() + first, size, 0.0F);
    }
    CHECK(outcome.gradient == expected);
    CHECK(outcome.reported == reported);
  }
}

TEST_CASE("a sink may overwrite the weights while the gradient is being taken") {
  const Setting setting("conv 6 3 | relu | maxpool 2 2 | conv 5 2 | relu | dense 400 | relu | dense classes", kPicture, 5, 4);
  Network network(setting.model, 4);
  const auto outcome = network_gradient(network, setting);
  Vector stepped = setting.weights;
  network.gradient(stepped.data(), setting.batch(), [&](std::size_t offset, std::span<const float> gradient) {
    for (std::size_t i = 0; i < gradient.size(); ++i) stepped[offset + i] -= 0.5F * gradient[i];
    return 0.0;
  });
  Vector expected = setting.weights;
  for (std::size_t i = 0; i < outcome.gradient.size(); ++i) expected[i] -= 0.5F * outcome.gradient[i];
  CHECK(stepped == expected);
}

}  // namespace fedstride::test::network_test

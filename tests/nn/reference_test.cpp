#include "tests/kits/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/random.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::reference_test {
namespace {

/// The layers applied to one example of `inputs`, whatever they are, read off the scores of a last dense layer whose
/// weights are the identity.
std::vector<double> applied(std::string_view layers, Shape input, std::vector<double> inputs, int outputs,
                            std::vector<double> weights = {}, bool training = false) {
  const auto model = Model::parse(std::string(layers) + " | dense classes nobias", input, outputs);
  weights.resize(model.size(), 0);
  const Parameter& last = model.parameters().back();
  for (int i = 0; i < outputs; ++i) weights[last.offset + static_cast<std::size_t>(i * outputs + i)] = 1;
  const std::vector<Label> labels{0};
  const std::vector<Row> rows{9};
  return reference_gradient<double>(model, weights, inputs, {labels, rows, {.seed = 1}}, {}, training).scores;
}

}  // namespace

TEST_CASE("a convolution is a cross-correlation with zeros around the picture") {
  // Picture 1 2 3 / 4 5 6 / 7 8 9, kernel 1 2 / 3 4, bias 10: top left 1 + 4 + 12 + 20 + 10.
  std::vector<double> weights(32, 0);
  for (std::size_t i = 0; i < 4; ++i) weights[i] = static_cast<double>(i + 1);
  weights[16] = 10;
  const std::vector<double> picture{1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(applied("conv 1 2", {3, 3, 1}, picture, 4, weights) == std::vector<double>{47, 57, 77, 87});
  // Stride 2 with one zero on each side: windows begin at -1 and 1; (-1, -1) sees only 4 x 1.
  CHECK(applied("conv 1 2 stride 2 pad 1", {3, 3, 1}, picture, 4, weights) == std::vector<double>{14, 28, 46, 87});
}

TEST_CASE("a convolution's weights lie output, row, column, input") {
  // Two input channels, 1x1 kernel, two outputs: out0 = 1 a + 2 b, out1 = 3 a + 4 b.
  std::vector<double> weights(16, 0);
  for (std::size_t i = 0; i < 4; ++i) weights[i] = static_cast<double>(i + 1);
  CHECK(applied("conv 2 1 nobias", {2, 1, 2}, {1, 10, 100, 1000}, 4, weights) == std::vector<double>{21, 43, 2100, 4300});
}

TEST_CASE("a max-pool takes the largest value of each window, an average pool the mean") {
  const std::vector<double> picture{1, -2, 3, 4, 5, -6, 7, 8, -9};
  CHECK(applied("maxpool 2 1", {3, 3, 1}, picture, 4) == std::vector<double>{5, 5, 8, 8});
  CHECK(applied("avgpool 2 1", {3, 3, 1}, picture, 4) == std::vector<double>{2, 0, 6, -0.5});
  CHECK(applied("maxpool 2", {3, 3, 1}, picture, 1) == std::vector<double>{5});
}

TEST_CASE("a dense layer's weights lie input, output") {
  // Weights 1 2 3 / 4 5 6 and bias 1 0 -1 on (10, 100).
  const auto model = Model::parse("dense classes", {1, 1, 2}, 3);
  std::vector<double> weights(model.size(), 0);
  for (std::size_t i = 0; i < 6; ++i) weights[i] = static_cast<double>(i + 1);
  weights[16] = 1;
  weights[18] = -1;
  const std::vector<Label> labels{2};
  const std::vector<Row> rows{0};
  const auto result = reference_gradient<double>(model, weights, std::vector<double>{10, 100}, {labels, rows, {}});
  CHECK(result.scores == std::vector<double>{411, 520, 629});
  CHECK(result.correct == 1);
}

TEST_CASE("relu and tanh act value by value, flatten changes nothing") {
  CHECK(applied("relu", {1, 1, 3}, {-1, 0, 2}, 3) == std::vector<double>{0, 0, 2});
  const auto values = applied("tanh", {1, 1, 2}, {0.5, -1}, 2);
  CHECK(values[0] == doctest::Approx(0.46211715726));
  CHECK(values[1] == doctest::Approx(-0.76159415596));
  CHECK(applied("flatten", {2, 1, 2}, {1, 2, 3, 4}, 4) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("softmax cross-entropy is the negative logarithm of the label's share") {
  // Scores ln 1, ln 2, ln 5: shares 1/8, 2/8, 5/8.
  std::vector<double> scores{0, std::log(2.0), std::log(5.0)};
  CHECK(reference::softmax_loss(std::span(scores), 1) == doctest::Approx(std::log(4.0)));
  CHECK(scores[0] == doctest::Approx(0.125));
  CHECK(scores[1] == doctest::Approx(-0.75));
  CHECK(scores[2] == doctest::Approx(0.625));
}

TEST_CASE("softmax cross-entropy stays finite at scores far apart") {
  std::vector<float> scores{1000, -1000, 0};
  CHECK(reference::softmax_loss(std::span(scores), 1) == 2000);
  CHECK(scores == std::vector<float>{1, -1, 0});
}

TEST_CASE("of equal scores the lowest class is predicted") {
  const auto model = Model::parse("dense classes", {1, 1, 1}, 3);
  const std::vector<double> zeros(model.size(), 0), inputs(3, 1);
  const std::vector<Label> labels{1, 0, 2};
  const std::vector<Row> rows{0, 1, 2};
  const auto result = reference_gradient<double>(model, zeros, inputs, {labels, rows, {}});
  CHECK(result.correct == 1);
  CHECK(result.loss_sum == doctest::Approx(3 * std::log(3.0)));
}

TEST_CASE("of equal values in a window the first gets the gradient") {
  // The convolution's output is channel 0; the gradient of its weight on channel 1 is that channel's value at the place
  // chosen, which names the place.
  const auto model = Model::parse("conv 1 1 | maxpool 2 | dense classes", {2, 2, 2}, 2);
  std::vector<double> weights(model.size(), 0);
  weights[0] = 1;
  weights[model.find("fc1.weight")->offset] = 1;
  const std::vector<double> inputs{0, 3, 1, 5, 1, 7, 1, 11};  // channel 0: 0 1 / 1 1
  const std::vector<Label> labels{0};
  const std::vector<Row> rows{0};
  const auto result = reference_gradient<double>(model, weights, inputs, {labels, rows, {}});
  CHECK(result.gradient[1] / result.gradient[0] == doctest::Approx(5));
}

TEST_CASE("the gradient agrees with finite differences for every layer and for combinations") {
  struct Case {
    const char* line;
    Shape input;
  };
  const Case cases[] = {
      {"dense classes", {1, 1, 5}},
      {"dense 4 nobias | tanh | dense classes nobias", {1, 1, 5}},
      {"dense 6 | relu | dense 5 | relu | dense classes", {1, 1, 4}},
      {"conv 3 3 | dense classes", {5, 4, 2}},
      {"conv 2 3 stride 2 pad 1 nobias | tanh | conv 3 2 pad 1 | dense classes", {5, 6, 2}},
      {"conv 3 3 | maxpool 3 2 | tanh | dense classes", {7, 7, 1}},
      {"conv 3 3 | relu | maxpool 2 1 | conv 2 2 | relu | maxpool 2 | dense classes", {7, 6, 2}},
      {"conv 2 2 | maxpool 1 2 | avgpool 2 1 | dense classes", {6, 7, 2}},
      {"maxpool 2 | avgpool 2 1 | flatten | tanh | dense 4 | dropout 0.3 | dense classes", {8, 6, 2}},
      {"conv 4 2 | dropout 0.25 | relu | flatten | dense 6 | dropout 0.5 | tanh | dense classes", {4, 4, 2}},
      {"conv 3 5 pad 4 stride 3 | avgpool 3 2 | dense classes", {9, 9, 1}},
  };
  for (const Case& item : cases) check_against_finite_differences(item.line, item.input);
}

TEST_CASE("frozen layers have a gradient of zero and change no other") {
  const Sample sample("conv 3 3 | relu | dense 4 | relu | dense classes", {5, 5, 1});
  const auto free = sample.at(sample.weights);
  const auto held =
      reference_gradient<double>(sample.model, sample.weights, sample.inputs, sample.batch(), sample.model.frozen("conv1,fc2"));
  for (const Parameter& parameter : sample.model.parameters()) {
    CAPTURE(parameter.name);
    const bool is_frozen = parameter.name.starts_with("conv1") || parameter.name.starts_with("fc2");
    double largest = 0;
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
      largest = std::max(largest, std::abs(free.gradient[i]));
      CHECK(held.gradient[i] == (is_frozen ? 0 : free.gradient[i]));
    }
    CHECK(largest > 0);
  }
}

TEST_CASE("dropout acts in training alone, and an example's mask depends on its row and not on its batch") {
  const std::string layers = "dropout 0.5";
  const std::vector<double> ones(200, 1);
  CHECK(applied(layers, {1, 1, 200}, ones, 200) == ones);
  const auto dropped = applied(layers, {1, 1, 200}, ones, 200, {}, true);
  std::vector<float> mask(200);
  dropout_mask({.seed = 1}, 9, 0, 0.5, mask);
  CHECK(std::vector<float>(dropped.begin(), dropped.end()) == mask);

  const Sample sample("dropout 0.5 | dense classes", {1, 1, 9});
  const auto all = sample.at(sample.weights);
  const std::vector<Label> label{2};
  const std::vector<Row> row{7};
  const auto alone = reference_gradient<double>(sample.model, sample.weights, std::span(sample.inputs).subspan(18, 9),
                                                {label, row, sample.batch().address});
  CHECK(std::vector<double>(all.scores.begin() + 6, all.scores.end()) == alone.scores);
}

}  // namespace fedstride::test::reference_test

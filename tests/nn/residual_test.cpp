#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nn/models.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::residual_test {
namespace {

constexpr Shape kPicture{9, 8, 4};

// Shortcuts of every kind, first in the model and not, nested, around dense layers, with nothing but a shape in them.
constexpr const char* kLines[] = {
    "residual { conv 4 3 1 1 | relu } | dense classes",
    "conv 4 3 | residual { relu | conv 4 3 pad 1 } | relu | dense classes",
    "residual { conv 6 3 2 1 | groupnorm 3 | tanh | conv 6 3 1 1 | groupnorm 3 } | relu | dense classes",
    "conv 5 3 pad 1 | residual { conv 6 3 2 1 | tanh } | dense classes",
    "conv 4 3 pad 1 | residual pad { conv 7 3 2 1 nobias | groupnorm 7 | relu | conv 7 3 1 1 } | relu | globalavgpool | dense "
    "classes",
    "residual pad { conv 4 1 3 } | dense classes",
    "conv 4 3 | residual { residual { conv 4 1 | tanh } | residual { conv 6 3 1 1 } | conv 4 1 } | relu | dense classes",
    "dense 20 | relu | residual { dense 20 | relu } | residual { layernorm | dense 30 | gelu | dense 20 } | dense classes",
    "conv 5 3 | relu | maxpool 2 2 | residual { conv 5 3 1 1 | dropout 0.3 } | flatten | residual { tanh } | dense 9 | residual "
    "{ "
    "relu } | dense classes",
    "flatten | dense 6 | residual { flatten } | dense classes",
    "repeat 2 { residual { groupnorm 2 | conv 4 3 1 1 } } | dense classes",
};

}  // namespace

TEST_CASE("a residual block's output is the sum of body and shortcut") {
  // relu(x) + x at -1 and 2 is -1 and 4; twice a value where the body changes nothing.
  const Model model = Model::parse("residual { relu } | residual { flatten } | dense classes nobias", {1, 1, 2}, 2);
  std::vector<double> weights(model.size());
  weights[0] = weights[3] = 1;  // the scores are the values
  const std::vector<double> inputs{-1, 2};
  const std::vector<Label> labels{0};
  const std::vector<Row> rows{0};
  const auto result = reference_gradient<double>(model, weights, inputs, {labels, rows, {}});
  CHECK(result.scores == std::vector<double>{-2, 8});
}

TEST_CASE("the shortcut without parameters keeps every stride-th place and adds channels of zeros") {
  std::vector<double> in(2 * 3 * 2), out(1 * 2 * 3, 9);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i);
  const reference::Place<double> at{.in = {2, 3, 2}, .out = {1, 2, 3}, .tensors = {}, .gradients = {}, .mask = {}};
  reference::forward(Subsample{.stride = 2, .channels = 3}, at, in.data(), out.data());
  CHECK(out == std::vector<double>{0, 1, 0, 4, 5, 0});
}

TEST_CASE("the twin's gradients through residual blocks agree with finite differences") {
  for (const char* line : kLines) check_against_finite_differences(line, kPicture);
}

TEST_CASE("the network's residual blocks agree with the slow twin") {
  for (const char* line : kLines)
    for (const int rows : {1, 3, 20}) check_against_twin(line, kPicture, rows);
}

TEST_CASE("the residual networks agree with the slow twin") {
  check_against_twin("resnet8-gn", {16, 16, 3}, 3);
  check_against_twin("resnet20-gn", {8, 8, 3}, 2);
}

TEST_CASE("norms and weighted sums with residual blocks are those of materialized gradients") {
  for (const char* line : kLines) check_against_materialized(line, kPicture, 5);
  check_against_materialized("resnet8-gn", {9, 8, 3}, 4);
}

TEST_CASE("frozen layers on either side of a shortcut change no other gradient") {
  const char* line =
      "conv 5 3 1 1 | residual { conv 6 3 2 1 | groupnorm 3 | relu | conv 6 3 1 1 | groupnorm 2 } | residual { conv 6 1 } | "
      "dense classes";
  const Setting setting(line, kPicture, 5, 4);
  Network free(setting.model, 4);
  const auto free_gradient = network_gradient(free, setting).gradient;
  for (const char* names : {"conv1", "conv1,conv2,gn1,conv3,gn2", "conv1,conv4,gn3", "conv1,conv2,gn1,conv3,gn2,conv4,gn3",
                            "conv2,gn1", "conv4,gn3", "conv1,conv2,gn1,conv3,gn2,conv4,gn3,conv5", "conv5"}) {
    CAPTURE(names);
    const auto frozen = setting.model.frozen(names);
    Network network(setting.model, 4, frozen);
    auto expected = free_gradient;
    std::vector<int> reported(setting.model.size());
    for (const Parameter& parameter : setting.model.parameters()) {
      const auto first = static_cast<std::ptrdiff_t>(parameter.offset), size = static_cast<std::ptrdiff_t>(parameter.size);
      std::fill_n(reported.begin() + first, size, 1);
      if (frozen[static_cast<std::size_t>(parameter.layer)]) std::fill_n(expected.begin() + first, size, 0.0F);
    }
    const auto outcome = network_gradient(network, setting);
    CHECK(outcome.gradient == expected);
    CHECK(outcome.reported == reported);
    check_against_materialized(line, kPicture, 3, names);
  }
}

TEST_CASE("a residual network's gradients, norms and sums are the same bits in any order of pieces") {
  const auto backwards = [](int pieces, function_ref<void(int)> body) {
    for (int piece = pieces; piece-- > 0;) body(piece);
  };
  const Setting setting("resnet8-gn", {32, 32, 3}, 10, 7);
  Network network(setting.model, 7), other(setting.model, 7);
  const auto plain = network_gradient(network, setting);
  const auto helped = network_gradient(other, setting, backwards);
  CHECK(plain.gradient == helped.gradient);
  CHECK(norms_of(network, setting) == norms_of(other, setting, backwards));
  const auto factors = some_factors(7);
  CHECK(weighted_sum(network, factors) == weighted_sum(other, factors, backwards));
}

}  // namespace fedstride::test::residual_test

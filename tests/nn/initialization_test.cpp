#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "nn/model.hpp"
#include "nn/pytorch_layout.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::initialization_test {
namespace {

struct Moments {
  double largest = 0;
  double mean = 0;
  double variance = 0;
};

Moments moments(const Model& model, const Vector& weights, std::string_view name) {
  const Parameter& parameter = *model.find(name);
  const auto count = static_cast<double>(parameter.size);
  Moments result;
  for (const float value : view(weights).subspan(parameter.offset, parameter.size)) {
    result.largest = std::max(result.largest, std::abs(static_cast<double>(value)));
    result.mean += value / count;
    result.variance += static_cast<double>(value) * value / count;
  }
  return result;
}

void check_uniform(const Moments& found, double bound, double count) {
  CHECK(found.largest <= bound);
  CHECK(found.largest > bound * (1 - 20 / count));  // misses the outer 20/count with probability exp(-20)
  CHECK(std::abs(found.mean) < 5 * bound / std::sqrt(3 * count));
  CHECK(found.variance == doctest::Approx(bound * bound / 3).epsilon(5 / std::sqrt(count)));
}

}  // namespace

TEST_CASE("fan-in weights are uniform in +-1/sqrt(fan-in), biases too") {
  const auto model = Model::parse("conv 64 3 | maxpool 3 2 | dense 500 | dense classes", {9, 9, 16}, 10);
  const Vector weights = model.initial(Initialization::fan_in, 1);
  check_uniform(moments(model, weights, "conv1.weight"), 1 / std::sqrt(16 * 9.0), 64 * 16 * 9);
  CHECK(moments(model, weights, "conv1.bias").largest <= 1 / std::sqrt(16 * 9.0));
  CHECK(moments(model, weights, "conv1.bias").largest > 0.5 / std::sqrt(16 * 9.0));
  check_uniform(moments(model, weights, "fc1.weight"), 1 / std::sqrt(9 * 64.0), 500 * 9 * 64);
  check_uniform(moments(model, weights, "fc1.bias"), 1 / std::sqrt(9 * 64.0), 500);
}

TEST_CASE("fan-out weights are uniform in +-1/sqrt(fan-out), biases too") {
  const auto model = Model::parse("conv 64 3 | maxpool 3 2 | dense 500 | dense classes", {9, 9, 16}, 10);
  const Vector weights = model.initial(Initialization::fan_out, 1);
  check_uniform(moments(model, weights, "conv1.weight"), 1 / std::sqrt(64 * 9.0), 64 * 16 * 9);
  check_uniform(moments(model, weights, "fc1.weight"), 1 / std::sqrt(500.0), 500 * 9 * 64);
  check_uniform(moments(model, weights, "fc1.bias"), 1 / std::sqrt(500.0), 500);
}

TEST_CASE("Glorot weights are uniform in +-sqrt(6/(fan-in + fan-out)), biases zero") {
  const auto model = Model::parse("conv 64 3 | maxpool 3 2 | dense 500 | dense classes", {9, 9, 16}, 10);
  const Vector weights = model.initial(Initialization::glorot, 1);
  check_uniform(moments(model, weights, "conv1.weight"), std::sqrt(6 / (16 * 9.0 + 64 * 9.0)), 64 * 16 * 9);
  check_uniform(moments(model, weights, "fc1.weight"), std::sqrt(6 / (9 * 64.0 + 500)), 500 * 9 * 64);
  CHECK(moments(model, weights, "conv1.bias").largest == 0);
  CHECK(moments(model, weights, "fc1.bias").largest == 0);
}

TEST_CASE("starting weights depend on the seed alone, and the gaps between tensors are zero") {
  const auto model = Model::parse("conv 5 3 | dense 7 | dense classes", {6, 6, 2}, 3);
  const Vector weights = model.initial(Initialization::fan_in, 1);
  CHECK(weights == model.initial(Initialization::fan_in, 1));
  CHECK(weights != model.initial(Initialization::fan_in, 2));
  CHECK(weights.size() == model.size());
  Vector rest = weights;
  for (const Parameter& parameter : model.parameters())
    std::ranges::fill(view(rest).subspan(parameter.offset, parameter.size), 0.0F);
  CHECK(is_zero(view(rest)));
  CHECK(static_cast<std::size_t>(std::ranges::count_if(weights, [](float weight) { return weight != 0; })) ==
        model.parameter_count());
}

TEST_CASE("starting weights are drawn in PyTorch's order, so that an equal tensor of another model starts equal") {
  // Both dense layers are [4, 12] and the first tensor of their model; one reads a picture, one a row.
  const auto picture = Model::parse("flatten | dense 4 | dense classes", {2, 3, 2}, 3);
  const auto row = Model::parse("dense 4 | dense classes", {1, 1, 12}, 3);
  const Vector a = picture.initial(Initialization::fan_in, 5), b = row.initial(Initialization::fan_in, 5);
  const auto in_order = [](const Model& model, const Vector& weights) {
    std::vector<float> values;
    for_each_in_pytorch_order(model, model.parameters()[0], [&](std::size_t inside) { values.push_back(view(weights)[inside]); });
    return values;
  };
  CHECK(in_order(picture, a) == in_order(row, b));
  CHECK(a != b);
}

TEST_CASE("PyTorch's order visits every value of a tensor once, channels before rows") {
  const auto model = Model::parse("conv 2 2 | tanh | flatten | relu | dropout 0.5 | dense classes", {3, 3, 3}, 2);
  for (const Parameter& parameter : model.parameters()) {
    std::vector<std::size_t> order;
    for_each_in_pytorch_order(model, parameter, [&](std::size_t inside) { order.push_back(inside); });
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    CAPTURE(parameter.name);
    REQUIRE(sorted.size() == parameter.size);
    for (std::size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == i);
    order.resize(std::min<std::size_t>(order.size(), 5));
    // The four places of input channel 0, 3 input channels apart; then channel 1.
    if (parameter.name == "conv1.weight") CHECK(order == std::vector<std::size_t>{0, 3, 6, 9, 1});
    // The four places of channel 0, 2 channels x 2 outputs apart; then channel 1.
    if (parameter.name == "fc1.weight") CHECK(order == std::vector<std::size_t>{0, 4, 8, 12, 2});
  }
}

}  // namespace fedstride::test::initialization_test

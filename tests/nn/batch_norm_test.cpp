// Batch normalization in the network: by the batch in training, by running statistics in evaluation and where it is frozen.
#include <doctest/doctest.h>

#include <cmath>

#include "nn/network.hpp"
#include "tests/nn/layer_checks.hpp"
#include "tests/nn/setting.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::batch_norm_test {
namespace {

// No bias goes through a normalization: its gradient would be zero, of which there is no relative error.
const char* const kLine =
    "conv 5 3 1 1 nobias | batchnorm | relu | conv 7 3 nobias | batchnorm 0.25 | tanh | dense 6 nobias | batchnorm | tanh | "
    "dense "
    "classes";
constexpr Shape kInput{6, 5, 3};

const Parameter& tensor(const Model& model, std::string_view name) {
  const Parameter* found = model.find(name);
  REQUIRE(found != nullptr);
  return *found;
}

Vector after_gradients(const Setting& setting, const std::vector<bool>& frozen, int gradients) {
  Network network(setting.model, static_cast<int>(setting.rows.size()), frozen);
  for (int i = 0; i < gradients; ++i) network_gradient(network, setting);
  Vector weights = setting.weights;
  network.add_batches(weights.data());
  return weights;
}

}  // namespace

TEST_CASE("the network's gradient is the twin's, whose is that of finite differences, for batches of all sizes") {
  check_against_finite_differences(kLine, kInput);
  check_against_finite_differences(
      "residual { conv 4 3 1 1 nobias | batchnorm | relu | conv 4 3 1 1 nobias | batchnorm } | relu | dense classes",
      Shape{5, 5, 4});
  for (const int rows : {3, 10, 50}) check_against_twin(kLine, kInput, rows);
  check_against_twin("conv 5 3 nobias | batchnorm | relu | dense classes", kInput, 1);  // a channel has 12 values
  for (const int rows : {5, 9})
    check_against_twin("batchnorm | tanh | dense 33 nobias | batchnorm | relu | dense classes", Shape{1, 1, 21}, rows);
}

TEST_CASE(
    "running statistics are PyTorch's: exponential averages of the mean and of the unbiased variance, in order of the batches") {
  // One input of one channel: the batch is 1, 2, 4.
  const Model model = Model::parse("batchnorm 0.25 | dense classes", {1, 1, 1}, 2);
  const Parameter &mean = tensor(model, "bn1.running_mean"), &variance = tensor(model, "bn1.running_var");
  Vector weights = model.initial(Initialization::fan_in, 1);
  CHECK(weights[mean.offset] == 0);
  CHECK(weights[variance.offset] == 1);
  Network network(model, 3);
  const std::vector<Label> labels{0, 1, 0};
  const std::vector<Row> rows{0, 1, 2};
  const auto step = [&](std::vector<float> batch) {
    const auto inputs = network.inputs(static_cast<int>(batch.size()));
    std::copy(batch.begin(), batch.end(), inputs.begin());
    network.gradient(weights.data(), {std::span(labels).first(batch.size()), std::span(rows).first(batch.size()), {}, {}},
                     [](std::size_t, std::span<const float>) { return 0.0; });
  };
  step({1, 2, 4});  // mean 7/3, unbiased variance 7/3
  step({5, 7});     // mean 6, unbiased variance 2
  network.add_batches(weights.data());
  CHECK(weights[mean.offset] == doctest::Approx(0.75 * (0.25 * 7 / 3) + 0.25 * 6));
  CHECK(weights[variance.offset] == doctest::Approx(0.75 * (0.75 + 0.25 * 7 / 3) + 0.25 * 2));
  const Vector before = weights;
  step({9});  // one value has no variance
  network.add_batches(weights.data());
  CHECK(weights[mean.offset] == doctest::Approx(0.75 * before[mean.offset] + 0.25 * 9));
  CHECK(weights[variance.offset] == before[variance.offset]);
  step({1, 2, 4});
  network.add_batches(nullptr);  // an undone step
  const Vector kept = weights;
  network.add_batches(weights.data());
  CHECK(weights == kept);
}

TEST_CASE("a cumulative average weighs a client's batches equally, without those of undone steps and of other clients") {
  const Model model = Model::parse("batchnorm cumulative | dense classes", {1, 1, 1}, 2);
  CHECK(model.line() == "batchnorm cumulative | dense classes");
  const std::size_t mean = tensor(model, "bn1.running_mean").offset, variance = tensor(model, "bn1.running_var").offset;
  Vector weights = model.initial(Initialization::fan_in, 1);
  Network network(model, 3);
  const auto step = [&](std::vector<float> batch) {
    std::copy(batch.begin(), batch.end(), network.inputs(static_cast<int>(batch.size())).begin());
    const std::vector<Label> labels(batch.size());
    std::vector<Row> rows(batch.size());
    network.gradient(weights.data(), {labels, rows, {}, {}}, [](std::size_t, std::span<const float>) { return 0.0; });
  };
  step({1, 2, 4});
  step({5, 7});
  network.add_batches(weights.data());
  CHECK(weights[mean] == doctest::Approx((7.0 / 3 + 6) / 2));
  CHECK(weights[variance] == doctest::Approx((7.0 / 3 + 2) / 2));
  step({100, 200});
  network.add_batches(nullptr);
  step({9});
  network.add_batches(weights.data());
  CHECK(weights[mean] == doctest::Approx((7.0 / 3 + 6 + 9) / 3));
  CHECK(weights[variance] == doctest::Approx((7.0 / 3 + 2) / 2));
  step({100, 200});
  network.forget_batches();
  step({2, 4});
  network.add_batches(weights.data());
  CHECK(weights[mean] == 3);
  CHECK(weights[variance] == 2);
}

TEST_CASE("evaluation and a frozen layer take the running statistics, and a frozen layer leaves them") {
  Setting setting(kLine, kInput, 4, 8);
  setting.weights = after_gradients(setting, {}, 3);
  Network network(setting.model, 8);
  const auto inputs = network.inputs(8);
  std::copy(setting.inputs.begin(), setting.inputs.end(), inputs.begin());
  const double loss = network.evaluate(setting.weights.data(), {setting.labels, {}}).loss_sum;
  CHECK(loss == doctest::Approx(setting.expected({}, false).loss_sum).epsilon(1e-5));
  CHECK(std::abs(loss - setting.expected().loss_sum) > 1e-3);
  const std::vector<bool> frozen = setting.model.frozen("bn1,bn2,bn3");
  Network fixed(setting.model, 8, frozen);
  const NetworkGradient found = network_gradient(fixed, setting);
  const auto expected = setting.expected(frozen);
  for (const Parameter& parameter : setting.model.parameters()) {
    CAPTURE(parameter.name);
    CHECK(difference(parameter, found.gradient, expected.gradient) < 1e-4);
  }
  CHECK(after_gradients(setting, frozen, 2) == setting.weights);
  const Vector moved = after_gradients(setting, setting.model.frozen("bn2"), 1);
  const Parameter &first = tensor(setting.model, "bn1.running_mean"), &second = tensor(setting.model, "bn2.running_mean");
  CHECK(moved[first.offset] != setting.weights[first.offset]);
  CHECK(moved[second.offset] == setting.weights[second.offset]);
}

TEST_CASE("a batch that no channel can be normalized over is refused by name, and so is one example's own gradient") {
  CHECK_USAGE_ERROR(Model::parse("batchnorm 0 | dense classes", {4, 4, 1}, 2), "layer 1", "momentum", "'0'");
  CHECK_USAGE_ERROR(Model::parse("batchnorm 1.5 | dense classes", {4, 4, 1}, 2), "layer 1", "'1.5'");
  CHECK_USAGE_ERROR(Model::parse("conv 3 2 | flatten | batchnorm | dense classes", {4, 4, 1}, 2), "layer 3", "flatten");
  CHECK(Model::parse("batchnorm 0.1 | dense classes", {4, 4, 1}, 2).line() == "batchnorm | dense classes");
  const Setting setting(kLine, kInput, 4, 3);
  Network network(setting.model, 3);
  std::vector<double> norms(3);
  CHECK_FAILURE(network.per_example(setting.weights.data(), setting.batch(), norms), "batchnorm", "own gradient");
}

}  // namespace fedstride::test::batch_norm_test

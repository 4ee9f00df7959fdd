#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/floating_point.hpp"
#include "nn/network.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::per_example_test {
namespace {

constexpr Shape kPicture{9, 8, 3};

}  // namespace

TEST_CASE("norms and weighted sums of dense networks are those of materialized gradients") {
  check_against_materialized("dense classes", {1, 1, 7}, 6);
  check_against_materialized("dense classes nobias", {1, 1, 1}, 3, "", 2);
  check_against_materialized("dense 33 nobias | tanh | dense 17 | relu | dense 50 | tanh | dense classes nobias", {1, 1, 54}, 13);
  check_against_materialized("dense 100 | relu | dense classes", {1, 1, 70}, 40, "", 21);
  check_against_materialized("dense 500 | relu | dense 30 | relu | dense classes", {1, 1, 41}, 7);
  check_against_materialized("relu | dense 1 | dense classes", {1, 1, 21}, 5);
}

TEST_CASE("norms and weighted sums of convolutions are those of materialized gradients") {
  for (const char* line :
       {"conv 4 3 | dense classes", "conv 6 3 | relu | maxpool 3 2 | dense classes",
        "conv 6 3 nobias | maxpool 2 1 | relu | dense classes", "conv 3 3 | tanh | maxpool 2 2 | dense classes",
        "conv 3 3 | relu | avgpool 2 2 | conv 4 2 pad 1 | tanh | dense classes",
        "conv 7 5 stride 2 pad 2 | relu | conv 4 2 pad 1 | relu | dense classes",
        "conv 7 8 pad 2 stride 3 | relu | dense classes", "maxpool 2 2 | conv 3 2 nobias | dense classes"})
    check_against_materialized(line, kPicture, 6);
}

TEST_CASE("filters smaller and larger than an example's list of spots, by Winograd or not, give the true norms") {
  for (const int channels : {15, 16, 17, 64})
    check_against_materialized("conv " + std::to_string(channels) + " 3 | relu | maxpool 2 2 | conv " + std::to_string(channels) +
                                   " 3 pad 1 | relu | maxpool 2 2 | dense classes",
                               {13, 12, 2}, 4);
  check_against_materialized("conv 32 3 | relu | conv 64 3 | relu | maxpool 2 2 | dense 20 | relu | dense classes", {20, 20, 3},
                             3);
}

TEST_CASE("dropout's masks count in the norms") {
  check_against_materialized("conv 5 3 | relu | maxpool 2 2 | dropout 0.25 | dense 37 | relu | dropout 0.5 | dense classes",
                             kPicture, 9);
}

TEST_CASE("frozen layers neither count in the norms nor appear in the sum") {
  const char* line = "conv 6 3 | relu | maxpool 2 2 | conv 20 2 | relu | dense 20 | relu | dense classes";
  for (const char* names : {"conv1", "conv1,conv2", "conv2", "fc1", "conv1,fc2", "conv1,conv2,fc1"})
    check_against_materialized(line, kPicture, 4, names);
  const Setting setting(line, kPicture, 5, 4);
  Network network(setting.model, 4, setting.model.frozen("conv1,conv2,fc1,fc2"));
  CHECK(norms_of(network, setting) == std::vector<double>(4, 0.0));
  const auto sum = weighted_sum(network, {1, 1, 1, 1});
  CHECK(std::count(sum.begin(), sum.end(), 0.0F) == static_cast<std::ptrdiff_t>(sum.size()));
}

TEST_CASE("batches of one, and larger than a block of rows, have the norms of each example alone") {
  for (const int rows : {1, 12, 13, 300}) {
    CAPTURE(rows);
    const Setting setting("dense 40 | relu | dense classes", {1, 1, 20}, 5, rows);
    Network network(setting.model, rows), single(setting.model, 1);
    const auto norms = norms_of(network, setting);
    std::vector<double> sum(setting.model.size());
    for (std::size_t r = 0; r < norms.size(); ++r) {
      const auto gradient = gradient_of(single, setting, r);
      CHECK(norms[r] == doctest::Approx(norm(gradient)).epsilon(5e-5));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(gradient[i]);
    }
    check_tensors(setting.model, weighted_sum(network, std::vector<float>(norms.size(), 1)), sum);
  }
}

TEST_CASE("the sum with equal factors is the plain gradient, losses and hits are the plain ones") {
  const Setting setting("conv 64 3 | relu | maxpool 3 2 | conv 32 3 | relu | dense 30 | relu | dense classes", {16, 16, 3}, 10,
                        20);
  Network network(setting.model, 20);
  std::copy(setting.inputs.begin(), setting.inputs.end(), network.inputs(20).begin());
  std::vector<double> expected(setting.model.size()), norms(20);
  const auto plain =
      network.gradient(setting.weights.data(), setting.batch(), [&](std::size_t offset, std::span<const float> part) {
        for (std::size_t i = 0; i < part.size(); ++i) expected[offset + i] = part[i];
        return 0.0;
      });
  const auto loss = network.per_example(setting.weights.data(), setting.batch(), norms);
  CHECK(loss.loss_sum == plain.loss_sum);
  CHECK(loss.correct == plain.correct);
  check_tensors(setting.model, weighted_sum(network, std::vector<float>(20, 1.0F / 20)), expected);
}

TEST_CASE("an example whose values are not finite spoils its own norm alone, and not the sum it has no part in") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  struct Case {
    const char* line;
    Shape input;
    bool spreads = true;  ///< ReLUs and pools may take the value away, whole gradients stay finite then
  };
  for (const auto& [line, input, spreads] :
       {Case{"dense 40 | relu | dense 30 | tanh | dense classes", {1, 1, 20}},
        Case{"conv 6 3 | avgpool 2 2 | conv 20 2 | dense 20 | dropout 0.5 | dense classes", kPicture},
        Case{"conv 16 3 | conv 48 3 pad 1 | dense classes", kPicture},
        Case{"conv 6 3 | maxpool 2 2 | conv 20 2 | relu | dense 20 | dropout 0.5 | dense classes", kPicture, false},
        Case{"conv 16 3 | tanh | conv 48 3 pad 1 | maxpool 2 2 | dense classes", kPicture, false}}) {
    CAPTURE(line);
    const FloatingPointMode mode;
    Setting setting(line, input, 5, 20);
    Network network(setting.model, 20);
    std::vector<float> factors(20, 0.5F);
    factors[3] = factors[17] = 0;
    const auto clean_norms = norms_of(network, setting);
    const auto clean_sum = weighted_sum(network, factors);
    std::fill_n(setting.inputs.begin() + static_cast<std::ptrdiff_t>(3 * input.size()), input.size(), nan);
    setting.inputs[17 * input.size() + 5] = infinity;
    const auto norms = norms_of(network, setting);
    for (std::size_t r = 0; r < 20; ++r) {
      CAPTURE(r);
      if (r == 3 || r == 17)
        CHECK((!spreads || !std::isfinite(norms[r])));
      else
        CHECK(norms[r] == clean_norms[r]);
    }
    CHECK(weighted_sum(network, factors) == clean_sum);
  }
}

TEST_CASE("a gradient whose square exceeds single precision has a finite norm and a finite scaled sum") {
  const FloatingPointMode mode;
  Setting setting("dense classes", {1, 1, 4}, 3, 2);
  setting.weights.fill(0);
  setting.inputs = {1e30F, 0, 0, 0, 1e-30F, 0, 0, 0};
  setting.labels = {0, 1};
  Network network(setting.model, 2);
  // |softmax - label| = sqrt(4/9 + 1/9 + 1/9); the bias gives the second example its norm.
  const double error = std::sqrt(6.0) / 3;
  const auto norms = norms_of(network, setting);
  CHECK(norms[0] == doctest::Approx(error * static_cast<double>(1e30F)).epsilon(1e-4));
  CHECK(norms[1] == doctest::Approx(error).epsilon(1e-4));
  const auto sum = weighted_sum(network, {1e-30F, 0});
  CHECK(sum[setting.model.find("fc1.weight")->offset] == doctest::Approx(-2.0 / 3));
}

TEST_CASE("an all-zero choice of factors gives exact zeros") {
  const Setting setting("conv 6 3 | relu | conv 20 2 | relu | dense 20 | relu | dense classes", kPicture, 5, 4);
  Network network(setting.model, 4);
  norms_of(network, setting);
  CHECK(weighted_sum(network, {0, 0, 0, 0}) == std::vector<float>(setting.model.size(), 0.0F));
}

TEST_CASE("other factors for the same batch may be asked for, and plain gradients in between change nothing") {
  const Setting setting("conv 6 3 | relu | maxpool 2 2 | conv 20 2 | relu | dense 20 | relu | dense classes", kPicture, 5, 4);
  Network network(setting.model, 4), fresh(setting.model, 4), single(setting.model, 1);
  const std::vector<float> factors{1, 0.25F, 0, 2};
  const auto norms = norms_of(fresh, setting);
  const auto sum = weighted_sum(fresh, factors);
  gradient_of(network, setting, 2);
  CHECK(norms_of(network, setting) == norms);
  for (std::size_t r = 0; r < 4; ++r) {
    std::vector<float> only(4, 0.0F);
    only[r] = 1;
    const auto own = weighted_sum(network, only);
    CHECK(norm(own) <= norms[r]);
    const auto expected = gradient_of(single, setting, r);
    check_tensors(setting.model, own, {expected.begin(), expected.end()});
  }
  CHECK(weighted_sum(network, factors) == sum);
}

}  // namespace fedstride::test::per_example_test

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "nn/safetensors.hpp"
#include "tests/nn/layer_checks.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::group_norm_test {
namespace {

constexpr Shape kNormed{9, 8, 3};

}  // namespace

TEST_CASE("group norm gives each group of an example mean 0 and variance 1, then each channel its scale and shift") {
  // Two places of four channels; group 0 holds 1 3 5 7 (mean 4, variance 5), group 1 holds 10 10 10 14 (11 and 3).
  const std::vector<double> in{1, 3, 10, 10, 5, 7, 10, 14}, scale{1, 2, 3, 4}, shift{0, 1, 0, -1};
  std::vector<double> out(8);
  reference::Place<double> at{.in = {1, 2, 4}, .out = {1, 2, 4}, .tensors = {}, .gradients = {}, .mask = {}};
  at.tensors.scale = scale.data();
  at.tensors.shift = shift.data();
  reference::forward(GroupNorm{.groups = 2}, at, in.data(), out.data());
  const double a = std::sqrt(5 + 1e-5), b = std::sqrt(3 + 1e-5);
  const double expected[] = {-3 / a, -2 / a + 1, -3 / b, -4 / b - 1, 1 / a, 6 / a + 1, -3 / b, 12 / b - 1};
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("the twin's gradient through group norm agrees with finite differences") {
  check_against_finite_differences("groupnorm 2 | dense classes", {3, 4, 4});
  check_against_finite_differences("conv 4 3 | groupnorm 2 | tanh | conv 6 2 | groupnorm 3 | dense classes", {6, 6, 2});
  check_against_finite_differences("conv 4 3 | groupnorm 1 | relu | maxpool 2 2 | groupnorm 4 | dense classes", {7, 6, 1});
  check_against_finite_differences("dense 9 | groupnorm 3 | tanh | dense 8 | groupnorm 1 | relu | dense classes", {1, 1, 5});
  check_against_finite_differences("conv 4 2 | dropout 0.3 | groupnorm 2 | flatten | tanh | dense classes", {4, 4, 2});
}

TEST_CASE("the network's group norm agrees with the slow twin for all channel counts, places and positions in a model") {
  for (const int channels : {4, 6, 16, 18, 34, 64})
    check_against_twin("conv " + std::to_string(channels) + " 3 | groupnorm 2 | relu | conv " + std::to_string(channels) +
                           " 2 nobias | groupnorm 1 | relu | maxpool 2 2 | dense classes",
                       kNormed, 3);
  check_against_twin("groupnorm 3 | conv 4 3 | relu | dense classes", kNormed, 4);
  check_against_twin("conv 6 3 nobias | groupnorm 6 | tanh | avgpool 2 2 | groupnorm 2 | dense classes", kNormed, 5);
  check_against_twin("conv 8 8 | groupnorm 2 | flatten | groupnorm 1 | dense classes", {8, 8, 3}, 3);
  check_against_twin("conv 4 3 | groupnorm 2 | dropout 0.5 | dense 30 | groupnorm 5 | relu | dropout 0.2 | dense classes",
                     kNormed, 13);
  for (const int rows : {1, 12, 13, 40})
    check_against_twin("dense 33 nobias | groupnorm 3 | tanh | dense 20 | groupnorm 1 | relu | dense classes", {1, 1, 21}, rows);
  check_against_twin("groupnorm 1 | dense classes", {1, 1, 7}, 3);
}

TEST_CASE("group norm of values far from zero keeps their differences") {
  Setting setting("groupnorm 3 | dense classes", kNormed, 5, 3);
  for (float& value : setting.inputs) value += 1000;  // single precision has steps of 6e-5 here
  Network network(setting.model, 3);
  const auto found = network_gradient(network, setting);
  const auto expected = setting.expected();
  for (const auto& parameter : setting.model.parameters()) {
    CAPTURE(parameter.name);
    CHECK(difference(parameter, found.gradient, expected.gradient) < 2e-4);
  }
}

TEST_CASE("norms and weighted sums with group norm are those of materialized gradients, frozen or not") {
  const char* line = "conv 6 3 | groupnorm 2 | relu | maxpool 2 2 | conv 20 2 | groupnorm 5 | relu | dense classes";
  for (const char* names : {"", "gn1", "gn2", "conv1,gn1", "conv1,gn1,conv2", "conv1,conv2", "conv1,gn1,conv2,gn2"})
    check_against_materialized(line, kNormed, 6, names);
  const char* rows = "dense 33 | groupnorm 3 | tanh | dense 20 | groupnorm 1 | relu | dense classes";
  for (const char* names : {"", "gn1", "fc1,gn1", "fc1,fc2"}) check_against_materialized(rows, {1, 1, 21}, 14, names);
  check_against_materialized("groupnorm 1 | conv 4 3 | dropout 0.25 | groupnorm 4 | dense classes", kNormed, 7);
}

TEST_CASE("scale and shift are reported once each, and as zeros where they are frozen") {
  const Setting setting("conv 6 3 | groupnorm 2 | relu | dense 20 | groupnorm 4 | dense classes", kNormed, 5, 4);
  for (const char* names : {"", "gn1", "gn2", "conv1,gn1,fc1,gn2"}) {
    CAPTURE(names);
    const auto frozen = setting.model.frozen(names);
    Network network(setting.model, 4, frozen);
    const auto found = network_gradient(network, setting);
    CHECK(found.loss.sink_sum == static_cast<double>(setting.model.parameter_count()));
    for (const auto& parameter : setting.model.parameters()) {
      CAPTURE(parameter.name);
      double size = 0;
      for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
        CHECK(found.reported[i] == 1);
        size += std::abs(found.gradient[i]);
      }
      CHECK((size == 0) == frozen[static_cast<std::size_t>(parameter.layer)]);
    }
  }
}

TEST_CASE("an example spoils no other's group norm: norms stay the same bits, and factor 0 leaves it out") {
  Setting setting("conv 6 3 | groupnorm 2 | tanh | conv 20 2 | groupnorm 4 | dense 20 | groupnorm 5 | dense classes", kNormed, 5,
                  8);
  Network network(setting.model, 8), single(setting.model, 1);
  std::vector<float> factors(8, 0.5F);
  factors[3] = 0;
  const auto clean = norms_of(network, setting);
  const auto sum = weighted_sum(network, factors);
  for (std::size_t r = 0; r < 8; ++r) {
    std::vector<double> alone(1);
    const Batch batch = setting.batch();
    std::copy_n(setting.inputs.begin() + static_cast<std::ptrdiff_t>(r * kNormed.size()), kNormed.size(),
                single.inputs(1).begin());
    single.per_example(setting.weights.data(), {batch.labels.subspan(r, 1), batch.rows.subspan(r, 1), batch.address}, alone);
    CHECK(alone[0] == doctest::Approx(clean[r]).epsilon(2e-5));
  }
  std::fill_n(setting.inputs.begin() + static_cast<std::ptrdiff_t>(3 * kNormed.size()), kNormed.size(),
              std::numeric_limits<float>::quiet_NaN());
  const auto norms = norms_of(network, setting);
  for (std::size_t r = 0; r < 8; ++r) CHECK((r == 3 ? !std::isfinite(norms[r]) : norms[r] == clean[r]));
  CHECK(weighted_sum(network, factors) == sum);
}

TEST_CASE("group norm gives the same bits in any order of pieces and on any threads") {
  const auto backwards = [](int count, function_ref<void(int)> piece) {
    for (int i = count; i-- > 0;) piece(i);
  };
  int regions = 0;
  const auto threads = [&](int count, function_ref<void(int)> piece) {
    ++regions;
    std::atomic<int> next = 0;
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
      all.emplace_back([&] {
        const FloatingPointMode mode;
        for (int i = next++; i < count; i = next++) piece(i);
      });
    for (auto& thread : all) thread.join();
  };
  const FloatingPointMode mode;
  const Setting setting(
      "conv 64 3 | groupnorm 16 | relu | maxpool 3 2 | conv 64 3 | groupnorm 8 | relu | maxpool 3 2 | "
      "dense 500 | groupnorm 4 | relu | dense classes",
      {32, 32, 3}, 10, 10);
  Network network(setting.model, 10);
  const auto expected = network_gradient(network, setting);
  CHECK(network_gradient(network, setting, backwards).gradient == expected.gradient);
  CHECK(network_gradient(network, setting, threads).gradient == expected.gradient);
  const auto norms = norms_of(network, setting);
  const auto sum = weighted_sum(network, some_factors(10));
  CHECK(norms_of(network, setting, threads) == norms);
  CHECK(weighted_sum(network, some_factors(10), threads) == sum);
  CHECK(norms_of(network, setting, backwards) == norms);
  CHECK(weighted_sum(network, some_factors(10), backwards) == sum);
  CHECK(regions >= 8);
  Network roomy(setting.model, 60);
  CHECK(network_gradient(roomy, setting).gradient == expected.gradient);
}

TEST_CASE("group norm's parameters are scales of 1 and shifts of 0, with PyTorch's names and shapes, and can be frozen") {
  const auto model = Model::parse("conv 6 3 | groupnorm  2 | relu | dense 9 | groupnorm 3 | dense classes", kNormed, 5);
  CHECK(model.line() == "conv 6 3 | groupnorm 2 | relu | dense 9 | groupnorm 3 | dense classes");
  const Parameter& scale = *model.find("gn1.weight");
  const Parameter& shift = *model.find("gn2.bias");
  CHECK(scale.role == ParameterRole::scale);
  CHECK(scale.shape == std::vector<std::int64_t>{6});
  CHECK(shift.role == ParameterRole::shift);
  CHECK(shift.shape == std::vector<std::int64_t>{9});
  for (const auto initialization : {Initialization::fan_in, Initialization::glorot}) {
    const Vector weights = model.initial(initialization, 1);
    for (std::size_t c = 0; c < 6; ++c) CHECK(view(weights)[scale.offset + c] == 1);
    for (std::size_t c = 0; c < 9; ++c) CHECK(view(weights)[shift.offset + c] == 0);
  }
  CHECK(model.frozen("gn2") == std::vector<bool>{false, false, false, false, true, false});
  Vector weights = model.initial(Initialization::fan_in, 1);
  for (std::size_t c = 0; c < 6; ++c) view(weights)[scale.offset + c] = static_cast<float>(c);
  const auto file = parse_safetensors(write_safetensors(model, weights), "x");
  CHECK(file.tensors.at("gn1.weight").values == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(exact(model_of(file), file) == weights);
}

TEST_CASE("group norm that does not fit says what would") {
  const auto parse = [](std::string_view line) { return Model::parse(line, kNormed, 5); };
  CHECK_USAGE_ERROR(parse("conv 64 3 | groupnorm 3 | dense classes"), "layer 2 'groupnorm 3'", "64", "2", "4");
  CHECK_USAGE_ERROR(parse("conv 6 3 | groupnorm 9 | dense classes"), "layer 2 'groupnorm 9'", "6");
  CHECK_USAGE_ERROR(parse("conv 6 3 | flatten | groupnorm 6 | dense classes"), "layer 3 'groupnorm 6'", "flatten");
  CHECK_USAGE_ERROR(parse("dense 6 | groupnorm 6 | dense classes"), "layer 2 'groupnorm 6'", "6");
  CHECK_USAGE_ERROR(parse("groupnorm | dense classes"), "layer 1 'groupnorm'", "groups", "groupnorm GROUPS");
  CHECK_USAGE_ERROR(parse("groupnorm 0 | dense classes"), "layer 1 'groupnorm 0'", "groups", "1", "1048576", "'0'");
  CHECK_NOTHROW(parse("conv 6 3 | flatten | dense 6 | groupnorm 2 | dense classes"));
}

}  // namespace fedstride::test::group_norm_test

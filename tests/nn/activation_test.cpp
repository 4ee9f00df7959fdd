#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/family.hpp"
#include "core/simd.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::activation_test {
namespace {

constexpr Shape kPicture{9, 8, 3};

/// The words of every activation of the registry, and of some with settings.
std::vector<std::string> activations() {
  std::vector<std::string> lines{"leakyrelu 0.3"};
  for_each_part<WrittenLayer>([&]<class Kind>(const Kind&) {
    if constexpr (Kind::kTraits.is_activation) lines.emplace_back(Kind::kName);
  });
  return lines;
}

/// Values at kPlaces from the formula of the paper, by another program than this one, to 14 digits. A new activation needs a line.
constexpr double kPlaces[] = {-2, -0.5, 0, 1, 3};
using Values = std::vector<double>;
Values published(const Relu&) { return {0, 0, 0, 1, 3}; }
Values published(const LeakyRelu&) { return {-0.02, -0.005, 0, 1, 3}; }
Values published(const Gelu&) { return {-0.045500263896358, -0.154268769363, 0, 0.84134474606854, 2.9959503059051}; }
Values published(const Tanh&) { return {-0.96402758007582, -0.46211715726001, 0, 0.76159415595576, 0.99505475368673}; }
Values published(const Sigmoid&) { return {0.11920292202212, 0.37754066879815, 0.5, 0.73105857863, 0.95257412682243}; }

/// The twin's values of a layer at a few places.
template <class Kind>
std::vector<double> values_of(const Kind& kind, const std::vector<double>& in) {
  const Shape shape{1, 1, static_cast<int>(in.size())};
  std::vector<double> out(in.size());
  const reference::Place<double> at{.in = shape, .out = shape, .tensors = {}, .gradients = {}, .mask = {}};
  reference::forward(kind, at, in.data(), out.data());
  return out;
}

}  // namespace

TEST_CASE("activations have the values of their papers") {
  for_each_part<WrittenLayer>([]<class Kind>(const Kind& kind) {
    if constexpr (Kind::kTraits.is_activation) {
      static_assert(
          requires { published(kind); },
          "the activation needs its published values: write one more published() in tests/nn/activation_test.cpp");
      INFO("activation ", std::string(Kind::kName), ", as its twin in tests/kits/reference_activations.hpp computes it");
      const auto expected = published(kind), values = values_of(kind, {std::begin(kPlaces), std::end(kPlaces)});
      REQUIRE(expected.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    }
  });
  CHECK(values_of(LeakyRelu{.slope = 0.25}, {-2, 0, 3}) == std::vector<double>{-0.5, 0, 3});
}

TEST_CASE("the vectors' normal distribution is the library's, from tail to tail") {
  double worst = 0, worst_tail = 0, worst_density = 0;
  for (int i = -9000; i <= 9000; ++i) {
    const float x = static_cast<float>(i) * 1e-3F;
    const NormalLanes normal = standard_normal(broadcast(x));
    const double exact = std::erfc(-static_cast<double>(x) / std::sqrt(2.0)) / 2;
    const double density = std::exp(-static_cast<double>(x) * static_cast<double>(x) / 2) / std::sqrt(2 * std::acos(-1.0));
    worst = std::max(worst, std::abs(static_cast<double>(normal.distribution[0]) - exact));
    if (x < 0) worst_tail = std::max(worst_tail, std::abs(static_cast<double>(normal.distribution[0]) / exact - 1));
    worst_density = std::max(worst_density, std::abs(static_cast<double>(normal.density[0]) / density - 1));
  }
  CHECK(worst < 4e-7);
  CHECK(worst_tail < 4e-6);
  CHECK(worst_density < 4e-6);
  CHECK(standard_normal(broadcast(40.0F)).distribution[0] == 1);
  CHECK(standard_normal(broadcast(-40.0F)).distribution[0] == 0);
}

TEST_CASE("the twin's gradients through activations agree with finite differences") {
  for (const std::string& name : activations()) {
    check_against_finite_differences("dense 9 | " + name + " | dense classes", {1, 1, 5});
    check_against_finite_differences("conv 4 3 | " + name + " | maxpool 2 2 | dense classes", {6, 6, 2});
  }
}

TEST_CASE("the network's activations agree with the slow twin, at sizes that fill no vector too") {
  for (const std::string& name : activations())
    for (const int units : {1, 7, 33})
      check_against_twin("dense " + std::to_string(units) + " | " + name + " | dense classes", {1, 1, 6}, 5);
  for (const std::string& name : activations()) {
    check_against_twin(name + " | conv 5 3 | " + name + " | avgpool 2 2 | dense 9 | " + name + " | dense classes", kPicture, 3);
    check_against_materialized("conv 5 3 | " + name + " | maxpool 2 2 | dense 9 | " + name + " | dense classes", kPicture, 4);
  }
}

}  // namespace fedstride::test::activation_test

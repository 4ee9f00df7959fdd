#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/simd.hpp"
#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::activation_test {
namespace {

constexpr Shape kPicture{9, 8, 3};
constexpr const char* kActivations[] = {"relu", "leakyrelu", "leakyrelu 0.3", "gelu", "tanh", "sigmoid"};

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
  CHECK(values_of(LeakyRelu{}, {-2, 0, 3}) == std::vector<double>{-0.02, 0, 3});
  CHECK(values_of(LeakyRelu{.slope = 0.25}, {-2, 0, 3}) == std::vector<double>{-0.5, 0, 3});
  // x Phi(x), with Phi(1) = 0.8413447460685429 and Phi(-2) = 0.02275013194817921 from tables.
  const auto gelu = values_of(Gelu{}, {1, -1, -2, 0});
  CHECK(gelu[0] == doctest::Approx(0.8413447460685429).epsilon(1e-14));
  CHECK(gelu[1] == doctest::Approx(-0.1586552539314571).epsilon(1e-14));
  CHECK(gelu[2] == doctest::Approx(-0.0455002638963584).epsilon(1e-14));
  CHECK(gelu[3] == 0);
  const auto sigmoid = values_of(Sigmoid{}, {0, std::log(3.0), -std::log(3.0)});
  CHECK(sigmoid[0] == 0.5);
  CHECK(sigmoid[1] == doctest::Approx(0.75).epsilon(1e-14));
  CHECK(sigmoid[2] == doctest::Approx(0.25).epsilon(1e-14));
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
  for (const std::string name : kActivations) {
    check_against_finite_differences("dense 9 | " + name + " | dense classes", {1, 1, 5});
    check_against_finite_differences("conv 4 3 | " + name + " | maxpool 2 2 | dense classes", {6, 6, 2});
  }
}

TEST_CASE("the network's activations agree with the slow twin, at sizes that fill no vector too") {
  for (const std::string name : kActivations)
    for (const int units : {1, 7, 33})
      check_against_twin("dense " + std::to_string(units) + " | " + name + " | dense classes", {1, 1, 6}, 5);
  for (const std::string name : kActivations) {
    check_against_twin(name + " | conv 5 3 | " + name + " | avgpool 2 2 | dense 9 | " + name + " | dense classes", kPicture, 3);
    check_against_materialised("conv 5 3 | " + name + " | maxpool 2 2 | dense 9 | " + name + " | dense classes", kPicture, 4);
  }
}

}  // namespace fedstride::test::activation_test

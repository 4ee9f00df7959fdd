#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/nn/layer_checks.hpp"

namespace fedstride::test::pool_test {
namespace {

constexpr Shape kPicture{9, 8, 3};

template <class Kind>
std::vector<double> pooled(const Kind& kind, Shape in, Shape out, const std::vector<double>& values) {
  std::vector<double> result(out.size());
  const reference::Place<double> at{.in = in, .out = out, .tensors = {}, .gradients = {}, .mask = {}};
  reference::forward(kind, at, values.data(), result.data());
  return result;
}

}  // namespace

TEST_CASE("padding is below every value for a largest one, and zeros that count for a mean") {
  const std::vector<double> values{-4, -3, -2, -1};  // 2x2
  CHECK(pooled(MaxPool{.kernel = 2, .stride = 2, .padding = 1}, {2, 2, 1}, {2, 2, 1}, values) == values);
  CHECK(pooled(AvgPool{.kernel = 2, .stride = 2, .padding = 1}, {2, 2, 1}, {2, 2, 1}, values) ==
        std::vector<double>{-1, -0.75, -0.5, -0.25});
  CHECK(pooled(GlobalAvgPool{}, {2, 1, 2}, {1, 1, 2}, {1, 10, 2, 30}) == std::vector<double>{1.5, 20});
}

TEST_CASE("the twin's gradients through padded and global pools agree with finite differences") {
  for (const std::string pool : {"maxpool 3 2 pad 1", "avgpool 3 2 pad 1", "avgpool 2 1 pad 1", "globalavgpool"})
    check_against_finite_differences("conv 4 3 | tanh | " + pool + " | dense classes", {7, 6, 2});
}

TEST_CASE("the network's padded and global pools agree with the slow twin, behind a convolution and alone") {
  for (const std::string pool : {"maxpool 3 2 pad 1", "maxpool 2 2 pad 1", "maxpool 5 3 pad 2", "avgpool 3 2 pad 1",
                                 "avgpool 4 1 pad 2", "globalavgpool"}) {
    check_against_twin("conv 5 3 | relu | " + pool + " | dense classes", kPicture, 3);
    check_against_twin("conv 5 3 | " + pool + " | relu | dense classes", kPicture, 3);
    check_against_twin(pool + " | conv 17 1 | " + "globalavgpool | dense classes", kPicture, 3);
    check_against_materialized("conv 6 3 | relu | " + pool + " | conv 4 1 | dense classes", kPicture, 5);
  }
}

}  // namespace fedstride::test::pool_test

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "core/random.hpp"
#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/dense.hpp"

namespace fedstride::test::dense_kernels_test {
namespace {

struct Case {
  int rows, inputs, outputs;
};

/// Few and many rows, more of both than a cache or a copy holds, and no multiples of a vector.
constexpr Case kCases[] = {{1, 1, 1},      {5, 7, 3},      {19, 131, 33},   {130, 9, 100},  {140, 70, 256},
                           {300, 66, 130}, {40, 130, 259}, {420, 33, 1030}, {101, 290, 40}, {60, 70, 10}};

struct Matrix {
  Matrix(int count, int size, std::uint32_t number)
      : stride(row_stride(static_cast<std::size_t>(size))), values(stride * static_cast<std::size_t>(count)) {
    RandomStream random(11, {.purpose = Purpose::test, .client = number});
    for (int r = 0; r < count; ++r)
      for (int i = 0; i < size; ++i) rows()[r][i] = static_cast<float>(random.normal());
  }
  Rows rows() { return {values.data(), stride}; }

  std::size_t stride;
  Buffer<float> values;
};

std::vector<float> random_weights(const Case& one) {
  RandomStream random(12, {.purpose = Purpose::test});
  std::vector<float> weights(static_cast<std::size_t>(one.inputs) * one.outputs);
  for (float& weight : weights) weight = static_cast<float>(random.normal());
  return weights;
}

}  // namespace

TEST_CASE("a dense layer's outputs are its sums in the order of the inputs, with weights as they lie or packed") {
  for (const Case& one : kCases) {
    INFO(one.rows << " rows, " << one.inputs << " inputs, " << one.outputs << " outputs");
    Matrix x(one.rows, one.inputs, 1), y(one.rows, one.outputs, 2), y_packed(one.rows, one.outputs, 2);
    const std::vector<float> w = random_weights(one);
    const std::vector<float> biases(static_cast<std::size_t>(one.outputs), 0.25F);
    dense_forward(x.rows(), one.rows, one.inputs, w.data(), one.outputs, biases.data(), false, y.rows(), 0, one.outputs);
    Buffer<float> packed(packed_weights_size(one.inputs, one.outputs));
    pack_weights(w.data(), one.inputs, one.outputs, packed.data());
    dense_forward_packed(x.rows(), one.rows, one.inputs, packed.data(), one.outputs, biases.data(), y_packed.rows());
    int others = 0;
    for (int r = 0; r < one.rows; ++r)
      for (int o = 0; o < one.outputs; ++o) {
        float sum = 0.25F;
        for (int i = 0; i < one.inputs; ++i) sum = fma(x.rows()[r][i], w[static_cast<std::size_t>(i) * one.outputs + o], sum);
        others += y.rows()[r][o] != sum || y_packed.rows()[r][o] != sum;
      }
    CHECK(others == 0);
  }
}

TEST_CASE("a dense layer's weight gradient is the sum in the order of the rows, of all of them or of some") {
  for (const Case& one : kCases) {
    INFO(one.rows << " rows, " << one.inputs << " inputs, " << one.outputs << " outputs");
    Matrix x(2 * one.rows, one.inputs, 1), dy(one.rows, one.outputs, 2);
    std::vector<int> examples;
    for (int r = 0; r < one.rows; ++r) examples.push_back(2 * r + r % 2);
    for (const int* chosen : {static_cast<const int*>(nullptr), static_cast<const int*>(examples.data())}) {
      // All inputs but the first and the last.
      const int first = one.inputs > 2 ? 1 : 0, last = one.inputs > 2 ? one.inputs - 1 : one.inputs;
      std::vector<float> dw(static_cast<std::size_t>(last - first) * one.outputs + 1, 9.0F);
      dense_weight_gradient(x.rows(), {dy.rows(), one.rows, chosen}, one.outputs, first, last, dw.data());
      int others = 0;
      for (int i = first; i < last; ++i)
        for (int o = 0; o < one.outputs; ++o) {
          float sum = 0;
          for (int r = 0; r < one.rows; ++r) sum = fma(x.rows()[chosen == nullptr ? r : chosen[r]][i], dy.rows()[r][o], sum);
          others += dw[static_cast<std::size_t>(i - first) * one.outputs + o] != sum;
        }
      CHECK(others == 0);
      CHECK(dw.back() == 9.0F);
    }
  }
}

TEST_CASE("a dense layer's data gradient is the sum over lanes of outputs, with weights as they lie or packed") {
  for (const Case& one : kCases) {
    INFO(one.rows << " rows, " << one.inputs << " inputs, " << one.outputs << " outputs");
    Matrix dy(one.rows, one.outputs, 1), dx(one.rows, one.inputs, 2), dx_packed(one.rows, one.inputs, 2);
    const std::vector<float> w = random_weights(one);
    // All inputs but the first and the last.
    const int first = one.inputs > 2 ? 1 : 0, last = one.inputs > 2 ? one.inputs - 1 : one.inputs;
    const std::vector<float> before(dx.rows()[0], dx.rows()[0] + one.inputs);
    dense_data_gradient(dy.rows(), one.rows, w.data(), one.outputs, dx.rows(), first, last);
    Buffer<float> packed(packed_by_lane_size(one.inputs, one.outputs));
    pack_weights_by_lane(w.data(), one.inputs, one.outputs, packed.data());
    dense_data_gradient_packed(dy.rows(), one.rows, packed.data(), one.inputs, one.outputs, dx_packed.rows());
    int others = 0;
    for (int r = 0; r < one.rows; ++r)
      for (int i = 0; i < one.inputs; ++i) {
        std::array<float, kSumLanes> lanes{};
        for (int o = 0; o < one.outputs; ++o) {
          float& lane = lanes[static_cast<std::size_t>(o % kSumLanes)];
          lane = fma(dy.rows()[r][o], w[static_cast<std::size_t>(i) * one.outputs + o], lane);
        }
        for (std::size_t step = kSumLanes / 2; step > 0; step /= 2)
          for (std::size_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
        others += dx_packed.rows()[r][i] != lanes[0];
        if (i >= first && i < last) others += dx.rows()[r][i] != lanes[0];
      }
    CHECK(others == 0);
    if (first > 0) CHECK(dx.rows()[0][0] == before[0]);
    if (last < one.inputs) CHECK(dx.rows()[0][last] == before[static_cast<std::size_t>(last)]);
  }
}

}  // namespace fedstride::test::dense_kernels_test

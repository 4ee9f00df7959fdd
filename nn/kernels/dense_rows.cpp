#include "nn/kernels/dense.hpp"

namespace fedstride {

OutputGradients scaled_gradients(Rows dy, int rows, int outputs, const float* factors, Rows to, int* examples) {
  int count = 0;
  for (int r = 0; r < rows; ++r) {
    if (factors[r] == 0) continue;
    for (int o = 0; o < outputs; o += kLanes) store(to[count] + o, load(dy[r] + o) * factors[r]);
    examples[count++] = r;
  }
  return {to, count, count == rows ? nullptr : examples};
}

void column_sums(const OutputGradients& dy, int outputs, float* sums) {
  for (int o = 0; o < outputs; o += kLanes) {
    Lanes total{};
    for (int r = 0; r < dy.count; ++r) total += load(dy.values[r] + o);
    store(sums + o, total);
  }
}

void relu_mask(Rows value, Rows gradient, int rows, std::size_t size) {
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < size; i += kLanes)
      store(gradient[r] + i, load(value[r] + i) > Lanes{} ? load(gradient[r] + i) : Lanes{});
}

}  // namespace fedstride

#include "nn/scale_shift.hpp"

#include <algorithm>

#include "nn/kernels/squares.hpp"

namespace fedstride {

void ScaleShift::prepare_training() {
  examples_ = Buffer<float>(max_rows_ * row_stride(2 * channels_));
  total_ = Buffer<float>(2 * channels_);
}

void ScaleShift::add_norms(RowRange range, double* squared_norms) {
  if (!trains()) return;
  for (int row = range.first; row < range.last; ++row) squared_norms[row] += squared_norm(example(row), 2 * channels_);
}

void ScaleShift::report(int rows, std::span<const float> factors, const GradientTarget& target) {
  if (trains()) {
    std::fill_n(total_.data(), 2 * channels_, 0.0F);
    for (int row = 0; row < rows; ++row) {
      const float factor = factors.empty() ? 1.0F : factors[static_cast<std::size_t>(row)];
      if (factor != 0) add_scaled(total_.data(), example(row), factor, 2 * channels_);
    }
  }
  target.report(0, tensors_.scale.offset, total_.data(), channels_);
  target.report(1, tensors_.shift.offset, total_.data() + channels_, channels_);
}

}  // namespace fedstride

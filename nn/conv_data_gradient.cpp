#include "nn/conv_data_gradient.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/pool.hpp"

namespace fedstride {

ConvDataGradient::ConvDataGradient(const ConvShape& forward, int padding)
    : border_(forward.kernel - 1 - padding), padded_(whole_lanes(static_cast<std::size_t>(forward.input.channels))) {
  shape_.kernel = forward.kernel;
  shape_.input = {forward.output.height + 2 * border_, forward.output.width + 2 * border_, forward.output.channels};
  shape_.output = {forward.input.height - 2 * padding, forward.input.width - 2 * padding, forward.input.channels};
  packed_ = Buffer<float>(static_cast<std::size_t>(shape_.filter_size()) * padded_);
  bias_ = Buffer<float>(padded_);
  if (winograd_fits(shape_)) {
    winograd_.emplace(shape_);
    filters_ = Buffer<float>(winograd_->filters_size());
    scratch_size_ = winograd_->scratch_size() + static_cast<std::size_t>(winograd_->group()) * winograd_->output_size();
  } else {
    scratch_size_ = static_cast<std::size_t>(shape_.output.width) * padded_;
  }
}

void ConvDataGradient::begin(const float* weights) {
  const int kernel = shape_.kernel, outputs = shape_.input.channels;
  const auto inputs = static_cast<std::size_t>(shape_.output.channels);
  float* to = packed_.data();
  for (int ky = kernel; ky-- > 0;)
    for (int kx = kernel; kx-- > 0;)
      for (int o = 0; o < outputs; ++o, to += padded_)
        std::copy_n(weights + ((static_cast<std::size_t>(o) * kernel + ky) * kernel + kx) * inputs, inputs, to);
  if (winograd_) winograd_->transform_filters(packed_.data(), filters_.data());
}

void ConvDataGradient::run(const Rows& dy, const Rows& dx, int first, int last) const {
  const Shape out = shape_.output;
  const Shape in{shape_.input.height - 2 * border_, shape_.input.width - 2 * border_, shape_.input.channels};
  const std::size_t dx_length = static_cast<std::size_t>(out.width) * out.channels;
  const std::size_t bordered_size = border_ > 0 ? row_stride(shape_.input.size()) : 0;
  float* const bordered = thread_scratch<Scratch::call>(group() * bordered_size + scratch_size_);
  float* const scratch = bordered + group() * bordered_size;
  for (int row = first; row < last; row += group()) {
    const int pictures = std::min(group(), last - row);
    const float* inputs[Winograd::kMaxGroup];
    for (int i = 0; i < pictures; ++i) {
      inputs[i] = dy[row + i];
      if (border_ == 0) continue;
      add_border(dy[row + i], in, border_, bordered + i * bordered_size);
      inputs[i] = bordered + i * bordered_size;
    }
    if (winograd_) {
      float* outputs[Winograd::kMaxGroup];
      for (int i = 0; i < pictures; ++i)
        outputs[i] = winograd_->is_gapless() ? dx[row + i] : scratch + winograd_->scratch_size() + i * winograd_->output_size();
      winograd_->forward(inputs, pictures, filters_.data(), bias_.data(), scratch, outputs);
      for (int i = 0; i < pictures && !winograd_->is_gapless(); ++i)
        for (int y = 0; y < out.height; ++y)
          unpad_row(outputs[i] + y * winograd_->output_pitch(), out.width, out.channels, false, dx[row + i] + y * dx_length);
    } else {
      for (int y = 0; y < out.height; ++y) {
        conv_row(shape_, inputs[0], packed_.data(), bias_.data(), y, scratch);
        unpad_row(scratch, out.width, out.channels, false, dx[row] + y * dx_length);
      }
    }
  }
}

}  // namespace fedstride

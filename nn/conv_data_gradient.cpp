#include "nn/conv_data_gradient.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/pool.hpp"

namespace fedstride {

ConvDataGradient::ConvDataGradient(const ConvShape& forward, int padding, int max_pieces)
    : border_(forward.kernel - 1 - padding), padded_(whole_lanes(static_cast<std::size_t>(forward.input.channels))) {
  const auto pieces = static_cast<std::size_t>(max_pieces);
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
  scratch_ = Buffer<float>(pieces * scratch_size_);
  if (border_ > 0) bordered_ = Buffer<float>(pieces * static_cast<std::size_t>(group()) * shape_.input.size());
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

void ConvDataGradient::run(const Rows& dy, const Rows& dx, int first, int last, int piece) {
  const Shape out = shape_.output;
  const std::size_t length = static_cast<std::size_t>(shape_.input.width - 2 * border_) * shape_.input.channels;
  const std::size_t dx_length = static_cast<std::size_t>(out.width) * out.channels;
  float* const bordered = bordered_.data() + static_cast<std::size_t>(piece) * group() * shape_.input.size();
  float* const scratch = scratch_.data() + static_cast<std::size_t>(piece) * scratch_size_;
  for (int row = first; row < last; row += group()) {
    const int pictures = std::min(group(), last - row);
    const float* inputs[Winograd::kMaxGroup];
    for (int i = 0; i < pictures; ++i) {
      inputs[i] = dy[row + i];
      if (border_ == 0) continue;
      float* to = bordered + i * shape_.input.size();
      inputs[i] = to;
      to += border_ * shape_.pitch() + static_cast<std::size_t>(border_) * shape_.input.channels;
      for (int y = 0; y < shape_.input.height - 2 * border_; ++y)
        std::copy_n(dy[row + i] + y * length, length, to + y * shape_.pitch());
    }
    if (winograd_) {
      float* outputs = scratch + winograd_->scratch_size();
      winograd_->forward(inputs, pictures, filters_.data(), bias_.data(), scratch, outputs);
      for (int i = 0; i < pictures; ++i)
        for (int y = 0; y < out.height; ++y)
          unpad_row(outputs + i * winograd_->output_size() + y * winograd_->output_pitch(), out.width, out.channels, false,
                    dx[row + i] + y * dx_length);
    } else {
      for (int y = 0; y < out.height; ++y) {
        conv_row(shape_, inputs[0], packed_.data(), bias_.data(), y, scratch);
        unpad_row(scratch, out.width, out.channels, false, dx[row] + y * dx_length);
      }
    }
  }
}

}  // namespace fedstride

#pragma once

#include <optional>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/winograd.hpp"

namespace fedstride {

/// Computes the gradient with respect to the inputs of a stride-1 convolution whose output gradients are rarely zero, as a
/// convolution of these gradients with the filters rotated by a half turn, with input and output channels exchanged.
class ConvDataGradient {
 public:
  /// The input of `forward` includes borders of width `padding`.
  ConvDataGradient(const ConvShape& forward, int padding);

  /// weights: [output][row][column][input].
  void begin(const float* weights);
  /// Computes dx of the examples [first, last), each without gaps.
  void run(const Rows& dy, const Rows& dx, int first, int last) const;

 private:
  int group() const { return winograd_ ? winograd_->group() : 1; }

  ConvShape shape_;
  int border_;
  std::size_t padded_;        ///< channels of dx, rounded up to whole vectors
  std::size_t scratch_size_;  ///< floats in addition to the bordered gradients of a group
  Buffer<float> packed_;
  Buffer<float> bias_;  ///< zeros
  std::optional<Winograd> winograd_;
  Buffer<float> filters_;
};

}  // namespace fedstride

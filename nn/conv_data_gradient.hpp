#pragma once

#include <optional>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/winograd.hpp"

namespace fedstride {

/// The gradient by the inputs of a convolution of stride 1 whose outputs' gradients are hardly ever zero: a convolution of
/// them with the filters turned by half a turn, inputs and outputs exchanged.
class ConvDataGradient {
 public:
  /// `forward` has its borders of `padding` included.
  ConvDataGradient(const ConvShape& forward, int padding, int max_pieces);

  /// weights: [output][row][column][input].
  void begin(const float* weights);
  /// dx of the examples from first to last, each without gaps; `piece` has its own scratch memory.
  void run(const Rows& dy, const Rows& dx, int first, int last, int piece);

 private:
  int group() const { return winograd_ ? winograd_->group() : 1; }

  ConvShape shape_;
  int border_;
  std::size_t padded_;  ///< channels of dx in whole vectors
  std::size_t scratch_size_;
  Buffer<float> packed_;
  Buffer<float> bias_;  ///< zeros
  Buffer<float> bordered_;
  std::optional<Winograd> winograd_;
  Buffer<float> filters_;
  Buffer<float> scratch_;
};

}  // namespace fedstride

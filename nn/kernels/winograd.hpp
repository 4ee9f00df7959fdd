#pragma once

#include <cstddef>

#include "nn/kernels/conv.hpp"

namespace fedstride {

// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(4x4, 3x3) (Lavin & Gray, CVPR 2016): outputs in tiles of 4x4,
// each from 6x6 inputs, 36 products per channel pair instead of 144. Relative rounding error at 64 channels: 1.1e-6; the direct
// sum has 4.5e-7.

/// True if it applies and pays off: enough channels that the transforms are cheap compared with the products.
bool winograd_fits(const ConvShape& shape);

class Winograd {
 public:
  static constexpr int kMaxGroup = 24;

  explicit Winograd(const ConvShape& shape);

  /// The best number of pictures to transform and multiply together.
  int group() const { return group_; }
  std::size_t filters_size() const;  ///< floats of the transformed filters
  std::size_t scratch_size() const;  ///< floats forward() needs
  std::size_t output_size() const;   ///< floats of one picture's outputs
  /// Floats from one output row to the next: whole tiles of whole vectors of channels.
  std::size_t output_pitch() const;

  /// Transforms filters packed by pack_filters.
  void transform_filters(const float* packed, float* filters) const;

  /// True if a picture's outputs have no gaps: whole tiles, whole vectors of channels.
  bool is_gapless() const { return output_size() == shape_.output.size(); }

  /// to[picture][y][x][o] for `pictures` <= group() inputs.
  void forward(const float* const* inputs, int pictures, const float* filters, const float* bias, float* scratch,
               float* const* to) const;

  // The gradient with respect to the filters is the forward pass transposed: sums of products of transformed inputs and
  // transformed output gradients, turned into filters once.

  /// True if this pays off: a picture has enough tiles, and the matrices are small enough.
  bool gradient_pays() const;
  std::size_t gradient_size() const;          ///< floats of the sums, which begin as zeros
  std::size_t gradient_scratch_size() const;  ///< floats add_gradient() needs
  /// Adds a picture's part; dy is [y][x][output] without gaps.
  void add_gradient(const float* input, const float* dy, float* scratch, float* sums) const;
  /// filter_gradient[output][row][column][input] from the sums.
  void finish_gradient(const float* sums, float* filter_gradient) const;

 private:
  ConvShape shape_;
  int rows_ = 0;  ///< rows of tiles
  int columns_ = 0;
  int group_ = 1;
  int chunk_ = 1;  ///< tiles multiplied at once
  std::size_t padded_ = 0;
};

}  // namespace fedstride

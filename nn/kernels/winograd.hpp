#pragma once

#include <cstddef>

#include "nn/kernels/conv.hpp"

namespace fedstride {

// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(4x4, 3x3) (Lavin & Gray, CVPR 2016): outputs in tiles of 4x4,
// each from 6x6 inputs, with 36 products per channel pair instead of 144. The relative rounding error with 64 channels is 1.1e-6;
// that of the direct sum is 4.5e-7.

/// True if the algorithm applies and pays off: enough channels make the transforms cheap compared with the products.
bool winograd_fits(const ConvShape& shape);

class Winograd {
 public:
  static constexpr int kMaxGroup = 24;

  explicit Winograd(const ConvShape& shape);

  /// The best number of images to transform and multiply together.
  int group() const { return group_; }
  std::size_t filters_size() const;  ///< floats in the transformed filters
  std::size_t scratch_size() const;  ///< floats forward() needs
  std::size_t output_size() const;   ///< floats in one image's outputs
  /// Floats from one output row to the next: whole tiles, and whole vectors of channels.
  std::size_t output_pitch() const;

  /// Transforms filters packed by pack_filters.
  void transform_filters(const float* packed, float* filters) const;

  /// True if an image's outputs have no gaps, since they form whole tiles and whole vectors of channels.
  bool is_gapless() const { return output_size() == shape_.output.size(); }

  /// Writes to[image][y][x][o], the outputs of `pictures` <= group() images.
  void forward(const float* const* inputs, int pictures, const float* filters, const float* bias, float* scratch,
               float* const* to) const;

  // The gradient with respect to the filters is the transposed forward pass: sums of products of transformed inputs and
  // transformed output gradients, converted to filters once.

  /// True if this pays off: an image has enough tiles, and the matrices are small enough.
  bool gradient_pays() const;
  std::size_t gradient_size() const;          ///< floats in the sums, which start at zero
  std::size_t gradient_scratch_size() const;  ///< floats add_gradient() needs
  /// Adds an image's contribution to the sums; dy is [y][x][output] without gaps.
  void add_gradient(const float* input, const float* dy, float* scratch, float* sums) const;
  /// Computes filter_gradient[output][row][column][input] from the sums.
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

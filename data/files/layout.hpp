#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/shape.hpp"

namespace fedstride {

inline constexpr int kMaxPictureChannels = 8;  // data/batch.cpp

/// The shape that the dimensions of an example in a file mean.
struct Layout {
  Shape shape;
  bool channels_first = false;  ///< in the file
  bool is_picture() const { return shape.height * shape.width > 1; }
};

/// No dimension: one number. One: so many columns. Two: height x width. Three: height x width x channels, as Keras has them, or, if
/// the first is 1, 3 or 4 and the last is not, channels x height x width, as PyTorch has them.
Layout layout_of(const std::vector<std::size_t>& dimensions);

/// The side of the square of so many pixels; 0 if they are fewer than 8x8 or no square.
int side_of_square(std::size_t pixels);

/// Turns pictures, channels innermost, into planes, in place.
void to_planes(std::vector<std::uint8_t>& pixels, const Shape& shape);
/// Turns examples that are planes into ones whose channels are innermost, in place.
void channels_innermost(std::vector<float>& numbers, const Shape& shape);

}  // namespace fedstride

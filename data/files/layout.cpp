#include "data/files/layout.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {
namespace {

bool is_channel_count(std::size_t size) { return size == 1 || size == 3 || size == 4; }

/// Writes matrices of rows x columns, one after another, as columns x rows.
template <class Value>
void transpose_each(std::vector<Value>& values, std::size_t rows, std::size_t columns) {
  if (rows == 1 || columns == 1) return;
  std::vector<Value> one(rows * columns);
  for (std::size_t begin = 0; begin < values.size(); begin += one.size()) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), one.size(), one.begin());
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) values[begin + column * rows + row] = one[row * columns + column];
  }
}

}  // namespace

Layout layout_of(const std::vector<std::size_t>& dimensions) {
  const auto at = [&](std::size_t i) { return static_cast<int>(dimensions[i]); };
  switch (dimensions.size()) {
    case 0:
      return {};
    case 1:
      return {.shape = {1, 1, at(0)}};
    case 2:
      return {.shape = {at(0), at(1), 1}};
    default:
      break;
  }
  if (is_channel_count(dimensions[0]) && !is_channel_count(dimensions[2]))
    return {.shape = {at(1), at(2), at(0)}, .channels_first = true};
  return {.shape = {at(0), at(1), at(2)}};
}

int side_of_square(std::size_t pixels) {
  constexpr int kLeastSide = 8;
  const auto side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(pixels))));
  return side >= kLeastSide && static_cast<std::size_t>(side) * static_cast<std::size_t>(side) == pixels ? side : 0;
}

void to_planes(std::vector<std::uint8_t>& pixels, const Shape& shape) {
  transpose_each(pixels, static_cast<std::size_t>(shape.height) * shape.width, static_cast<std::size_t>(shape.channels));
}

void channels_innermost(std::vector<float>& numbers, const Shape& shape) {
  transpose_each(numbers, static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height) * shape.width);
}

}  // namespace fedstride

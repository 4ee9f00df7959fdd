#include "data/skew/rotation.hpp"

namespace fedstride {

std::string RotationSkew::objection(const Dataset& data) const {
  if (!data.is_pictures()) return "which changes images; data set '" + data.name + "' has none";
  if (rotations == 1 || data.shape.height == data.shape.width) return {};
  return "which needs square images; those of data set '" + data.name + "' are " + data.shape.text();
}

void RotationSkew::redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const {
  const int side = shape.width;
  const int last = side - 1;
  const int turns = quarter_turns(client);
  for (int channel = 0; channel < shape.channels; ++channel, from += side * side)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        // A quarter turn counterclockwise: the right column becomes the top row.
        int from_x = x, from_y = y;
        if (turns == 1) from_x = last - y, from_y = x;
        if (turns == 2) from_x = last - x, from_y = last - y;
        if (turns == 3) from_x = y, from_y = last - x;
        *to++ = from[from_y * side + from_x];
      }
}

}  // namespace fedstride

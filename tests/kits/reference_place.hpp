#pragma once

#include <cstddef>
#include <vector>

#include "core/shape.hpp"
#include "nn/parameter.hpp"

namespace fedstride::reference {

/// One example on its way through one layer.
template <class Scalar>
struct Place {
  Shape in;
  Shape out;
  ByRole<const Scalar*> tensors;  ///< as the flat vector has them; null where the layer has none
  ByRole<Scalar*> gradients;      ///< added to
  std::vector<float> mask;        ///< dropout's; empty where nothing is dropped
  const Scalar* added = nullptr;  ///< the second slot of an Add
  Scalar* added_gradient = nullptr;

  std::size_t in_at(int row, int column, int channel) const {
    return (static_cast<std::size_t>(row) * in.width + column) * in.channels + channel;
  }
  std::size_t out_at(int row, int column, int channel) const {
    return (static_cast<std::size_t>(row) * out.width + column) * out.channels + channel;
  }
};

/// Calls visit(row, column, channel) for every value of a picture.
template <class Visit>
void for_each_value(Shape shape, Visit&& visit) {
  for (int row = 0; row < shape.height; ++row)
    for (int column = 0; column < shape.width; ++column)
      for (int channel = 0; channel < shape.channels; ++channel) visit(row, column, channel);
}

}  // namespace fedstride::reference

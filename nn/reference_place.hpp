#pragma once

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

  std::size_t in_at(int row, int column, int channel) const {
    return (static_cast<std::size_t>(row) * in.width + column) * in.channels + channel;
  }
  std::size_t out_at(int row, int column, int channel) const {
    return (static_cast<std::size_t>(row) * out.width + column) * out.channels + channel;
  }
};

}  // namespace fedstride::reference

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/gradient.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/network.hpp"

namespace fedstride {

// A network is a line of stages: one or a few layers that are computed together. Between two stages lies a row of
// values an example, and in training the gradient of the loss by each of them.

/// Which examples one piece of work is about, and which piece it is (scratch memory is a piece's own).
struct RowRange {
  int first = 0;
  int last = 0;
  int piece = 0;
};

/// Values between two stages, and their gradients (no data where nobody asks for them).
struct Signal {
  Rows value;
  Rows gradient;
};

/// Where a layer's parameters lie in the flat vector.
struct Tensor {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// The layer's weight and bias; size 0 for a bias it has not.
struct LayerTensors {
  Tensor weight;
  Tensor bias;
  bool frozen = false;
};

/// Hands a stage's gradient to the sink, a stretch a slot; the slots are added up in order at the end of the step.
struct GradientTarget {
  GradientSink sink;
  double* slots;  ///< the stage's own, stretches() of them

  void report(int slot, std::size_t offset, const float* gradient, std::size_t size) const {
    slots[slot] = sink(offset, {gradient, size});
  }
};

/// About how many floats a sink gets at once: they stay in the first-level cache.
inline constexpr std::size_t kStretch = 2048;

}  // namespace fedstride

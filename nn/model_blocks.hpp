#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nn/layer.hpp"
#include "nn/model_line.hpp"

namespace fedstride {

// A model line consists of layers and blocks separated by '|'. Blocks nest:
//   repeat N { LAYERS }       the layers N times
//   residual { LAYERS }       the layers' output plus the block's input. If their shapes differ, the input passes through a
//                             1x1 convolution without bias, with the stride that follows from the shapes, and through a group
//                             norm like the one that ends the block, if one does (He et al., CVPR 2016, option B)
//   residual pad { LAYERS }   the same without parameters: drops rows and columns, adds channels of zeros (option A)
// Layers are numbered in reading order, the layers of a repeated block only once. In the model, a residual block becomes a Fork,
// its body, its shortcut's layers and an Add, in this order, which is also the order of the parameters.

/// The maximum number of layers of a model with blocks expanded; a residual block counts as four layers more than its body.
inline constexpr std::size_t kMaxLayers = 1000;
/// The maximum number of blocks around a layer.
inline constexpr std::size_t kMaxDepth = 16;

/// Layers in the order of the model, blocks expanded. Slot 0 holds the model's input, slot i + 1 the output of layer i.
struct LaidLayer {
  Layer layer;
  LayerPlace place;  ///< for a shortcut's layers, the place of the block's last layer
  Flow input;
  Flow output;
  int from = 0;    ///< the slot it reads
  int added = -1;  ///< the slot that an Add adds to it
};
struct LaidLine {
  std::vector<LaidLayer> layers;
  std::string text;  ///< normalized: laying it out again yields the same text
};

/// Reads the layers and puts them in order. Throws Error (usage) for a layer that is invalid or does not fit, and for a residual
/// block whose input cannot be added to its output.
LaidLine lay_out(std::string_view line, const Flow& input, const ExampleForm& examples);

}  // namespace fedstride

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/dense_stage.hpp"
#include "nn/model.hpp"
#include "nn/stage.hpp"

namespace fedstride {

// The registry: add a new stage here, unless it is an activation's. A stage begins with the given kind of layer and takes the
// layers it computes from the cursor. Dense is a DenseStage; Flatten needs no stage, since the output of every stage is already
// flat.

using RowStagePointer = std::unique_ptr<RowStage>;
using ParameterStagePointer = std::unique_ptr<RowStageWithParameters>;

ParameterStagePointer make_stage(const Conv&, LayerCursor& layers);
ParameterStagePointer make_stage(const BatchNorm&, LayerCursor& layers);
ParameterStagePointer make_stage(const GroupNorm&, LayerCursor& layers);
ParameterStagePointer make_stage(const LayerNorm&, LayerCursor& layers);
ParameterStagePointer make_stage(const Embedding&, LayerCursor& layers);
ParameterStagePointer make_stage(const Positions&, LayerCursor& layers);
ParameterStagePointer make_stage(const Lstm&, LayerCursor& layers);
ParameterStagePointer make_stage(const Gru&, LayerCursor& layers);
RowStagePointer make_stage(const MaxPool&, LayerCursor& layers);
RowStagePointer make_stage(const AvgPool&, LayerCursor& layers);
RowStagePointer make_stage(const GlobalAvgPool&, LayerCursor& layers);
RowStagePointer make_stage(const Dropout&, LayerCursor& layers);
RowStagePointer make_stage(const Attention&, LayerCursor& layers);
RowStagePointer make_stage(const Last&, LayerCursor& layers);
RowStagePointer make_stage(const Sequence&, LayerCursor& layers);
RowStagePointer make_stage(const Fork&, LayerCursor& layers);
RowStagePointer make_stage(const Add&, LayerCursor& layers);
RowStagePointer make_stage(const Subsample&, LayerCursor& layers);

/// The stage of the next activation, of any kind.
RowStagePointer make_activation(LayerCursor& layers);
template <class Kind>
  requires(Kind::kTraits.is_activation)
RowStagePointer make_stage(const Kind&, LayerCursor& layers) { return make_activation(layers); }

/// The dense products before and after a stage, which are separate stages with tensors of the same layer.
struct Products {
  std::optional<DenseStage::Options> before;
  std::optional<DenseStage::Options> after;
};
Products products_of(const Lstm& layer, const LayerCursor& layers);
Products products_of(const Gru& layer, const LayerCursor& layers);
Products products_of(const Attention& layer, const LayerCursor& layers);

/// A signal of a network: number s + 1 is the output of stage s; number 0 is the input.
struct SignalPlace {
  int number = -1;     ///< -1 for none
  bool again = false;  ///< true for the second stage that reads the signal
};

/// A stage with its place in the network.
struct PlacedStage {
  RowStagePointer rows = {};                  ///< null if it is dense
  RowStageWithParameters* weights = nullptr;  ///< the same stage, if it has parameters
  std::optional<DenseStage> dense = {};
  std::size_t output_stride = 0;  ///< floats from one example's output to the next
  bool mixes = false;             ///< it needs all examples of a batch at once, as do the stages after it
  bool trains = false;            ///< it has trainable weights
  bool data_gradient = false;     ///< an earlier stage trains
  SignalPlace input = {};
  SignalPlace added = {};  ///< for a stage that adds: its second input
};

/// Groups the layers into stages, in order; each stage takes the layers it computes. `frozen` has one flag per layer or is
/// empty.
std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces);

/// The number of multiply-adds per example in the forward pass of the convolutions, whose stages are cut by rows.
std::size_t row_work(const Model& model);

}  // namespace fedstride

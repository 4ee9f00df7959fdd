#pragma once

#include <variant>
#include <vector>

#include "nn/conv_stage.hpp"
#include "nn/dense_stage.hpp"
#include "nn/model.hpp"
#include "nn/row_stages.hpp"

namespace fedstride {

using Stage = std::variant<ConvStage, PoolStage<MaxPool>, PoolStage<AvgPool>, ActivationStage<Relu>,
                           ActivationStage<Tanh>, DropoutStage, DenseStage>;

/// A stage in its place.
struct PlacedStage {
  Stage stage;
  std::size_t output_size = 0;  ///< values an example
  bool trains = false;          ///< has weights that move
  bool data_gradient = false;   ///< something before it trains
};

/// Which layers are computed together, in order. A convolution takes in the ReLU and the max-pool behind it in either
/// order, a dense layer the ReLU behind it; flatten needs no stage. `frozen` has a flag a layer.
std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces);

}  // namespace fedstride

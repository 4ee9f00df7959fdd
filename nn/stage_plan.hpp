#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "nn/activation_stages.hpp"
#include "nn/conv_stage.hpp"
#include "nn/dense_stage.hpp"
#include "nn/group_norm_stage.hpp"
#include "nn/layer_norm_stage.hpp"
#include "nn/model.hpp"
#include "nn/recurrent_stage.hpp"
#include "nn/residual_stages.hpp"
#include "nn/row_stages.hpp"
#include "nn/sequence_stages.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// The registry: a new stage is a word here.
using StageVariant =
    std::variant<ConvStage, PoolStage<MaxPool>, PoolStage<AvgPool>, GlobalAvgPoolStage, ActivationStage<Relu>,
                 ActivationStage<LeakyRelu>, ActivationStage<Gelu>, ActivationStage<Tanh>, ActivationStage<Sigmoid>, DropoutStage,
                 DenseStage, GroupNormStage, LayerNormStage, ForkStage, AddStage, SubsampleStage, TableStage<Embedding>,
                 TableStage<Positions>, RecurrentStage<Lstm>, RecurrentStage<Gru>, AttentionStage, LastStage, SequenceStage>;

template <class Variant>
inline constexpr bool kAreStages = false;
template <class... Kinds>
inline constexpr bool kAreStages<std::variant<Kinds...>> = (Stage<Kinds> && ...);
static_assert(kAreStages<StageVariant>);

/// Flatten needs no stage: the output of every stage is flat already.
template <class LayerKind>
inline constexpr bool kNeedsStage = !std::is_same_v<LayerKind, Flatten>;

template <class LayerKind, class Variant>
struct StageFor;  // left undefined: StageVariant has no stage for that layer
template <class LayerKind, class First, class... Rest>
struct StageFor<LayerKind, std::variant<First, Rest...>>
    : std::conditional_t<std::is_same_v<typename First::Layer, LayerKind>, std::type_identity<First>,
                         StageFor<LayerKind, std::variant<Rest...>>> {};
/// The stage that begins with a layer.
template <class LayerKind>
using StageOf = typename StageFor<LayerKind, StageVariant>::type;

/// A signal of a network: stage s makes number s + 1, number 0 is the input.
struct SignalPlace {
  int number = -1;     ///< -1 for none
  bool again = false;  ///< read the second time, after another stage
};

/// A stage in its place.
struct PlacedStage {
  StageVariant stage;
  std::size_t output_stride = 0;  ///< floats from one example's output to the next
  bool trains = false;            ///< has weights that move
  bool data_gradient = false;     ///< something that its values come from trains
  SignalPlace input;
  SignalPlace added;  ///< if there is one
};

/// Groups the layers into stages, in order; each stage takes the layers it computes off the line. `frozen` has a flag a
/// layer or is empty.
std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces);

/// The multiply-adds of an example, forwards, in the weights of the stages that are cut by rows.
std::size_t row_work(const Model& model);

}  // namespace fedstride

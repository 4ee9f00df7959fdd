#include "nn/stage_plan.hpp"

#include <optional>
#include <type_traits>
#include <utility>

namespace fedstride {

LayerTensors LayerCursor::tensors() const {
  LayerTensors found;
  for (const Parameter& parameter : model_.parameters())
    if (parameter.layer == number()) found[parameter.role] = {parameter.offset, parameter.size};
  found.frozen = !frozen_.empty() && frozen_[next_];
  return found;
}

namespace {

/// The number of floats from one example to the next.
std::size_t stride_of(Shape shape, bool is_sequence) {
  const auto positions = static_cast<std::size_t>(is_sequence ? shape.height : 1);
  return positions * row_stride(shape.size() / positions);
}

}  // namespace

std::size_t LayerCursor::span() const { return positions() == 1 ? input().size() : stride_of(input(), true); }

std::size_t LayerCursor::output_stride() const { return stride_of(output(), model_.is_sequence(next_)); }

std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces) {
  std::vector<PlacedStage> stages;
  LayerCursor layers(model, frozen, max_rows, max_pieces);
  // The signal of each slot, and whether a stage already reads it.
  std::vector<SignalPlace> signals(model.shapes().size());
  signals[0].number = 0;
  const auto read = [&](int slot) {
    if (slot < 0) return SignalPlace{};
    return std::exchange(signals[static_cast<std::size_t>(slot)], {signals[static_cast<std::size_t>(slot)].number, true});
  };
  // The signal that the next stage reads, and whether an earlier stage trains.
  SignalPlace input, added;
  bool data_gradient = false;
  const auto push = [&](PlacedStage stage, std::size_t stride) {
    if (stage.weights != nullptr) stage.trains = stage.weights->trains();
    if (stage.dense) stage.trains = stage.dense->trains();
    stage.output_stride = stride;
    stage.data_gradient = data_gradient;
    stage.input = input;
    stage.added = added;
    data_gradient = data_gradient || stage.trains;
    stages.push_back(std::move(stage));
    input = {static_cast<int>(stages.size()), false};
    added = {};
  };
  const auto push_product = [&](std::optional<DenseStage::Options> options) {
    if (!options) return;
    options->data_gradient = data_gradient;
    push({.dense = DenseStage(*options, max_rows)},
         static_cast<std::size_t>(options->positions) * row_stride(static_cast<std::size_t>(options->outputs)));
  };
  const auto place = [&]<class Kind>(const Kind& layer) {
    input = read(layers.reads().from);
    added = read(layers.reads().added);
    data_gradient = layers.data_gradient();
    if constexpr (std::is_same_v<Kind, Flatten>) {
      layers.take<Flatten>();
    } else if constexpr (std::is_same_v<Kind, Dense>) {
      DenseStage dense(layers);
      push({.dense = std::move(dense)}, layers.output_stride());
    } else {
      static_assert(
          requires { make_stage(layer, layers); }, "the layer needs a make_stage declaration in nn/stage_plan.hpp");
      Products products;
      if constexpr (requires { products_of(layer, layers); }) products = products_of(layer, layers);
      push_product(products.before);
      auto stage = make_stage(layer, layers);
      RowStageWithParameters* weights = nullptr;
      if constexpr (std::is_same_v<decltype(stage), ParameterStagePointer>) weights = stage.get();
      static_assert(
          !Kind::kTraits.has_parameters || std::is_same_v<decltype(stage), ParameterStagePointer> ||
              requires { products_of(layer, layers); },
          "make_stage of a layer with parameters must return a ParameterStagePointer (nn/stage_plan.hpp)");
      push({.rows = std::move(stage), .weights = weights, .mixes = Kind::kTraits.mixes_examples}, layers.output_stride());
      push_product(products.after);
    }
    signals[static_cast<std::size_t>(layers.number())] = input;
    layers.output_needs_gradient(data_gradient);
  };
  while (!layers.done()) std::visit(place, layers.layer());
  return stages;
}

std::size_t row_work(const Model& model) {
  std::size_t work = 0;
  for (const Parameter& parameter : model.parameters()) {
    const auto layer = static_cast<std::size_t>(parameter.layer);
    const Shape output = model.shapes()[layer + 1];
    if (std::holds_alternative<Conv>(model.layers()[layer]) && parameter.role == ParameterRole::weight)
      work += parameter.size * static_cast<std::size_t>(output.height) * output.width;
  }
  return work;
}

}  // namespace fedstride

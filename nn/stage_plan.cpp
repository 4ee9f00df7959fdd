#include "nn/stage_plan.hpp"

#include <utility>

namespace fedstride {

LayerTensors LayerCursor::tensors() const {
  LayerTensors found;
  for (const Parameter& parameter : model_.parameters())
    if (parameter.layer == number()) found[parameter.role] = {parameter.offset, parameter.size};
  found.frozen = !frozen_.empty() && frozen_[next_];
  return found;
}

std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces) {
  std::vector<PlacedStage> stages;
  LayerCursor layers(model, frozen, max_rows, max_pieces);
  // The signal that holds each slot, and whether a stage reads it already.
  std::vector<SignalPlace> signals(model.shapes().size());
  signals[0].number = 0;
  const auto read = [&](int slot) {
    if (slot < 0) return SignalPlace{};
    return std::exchange(signals[static_cast<std::size_t>(slot)], {signals[static_cast<std::size_t>(slot)].number, true});
  };
  const auto place = [&]<class Kind>(const Kind&) {
    const SignalPlace input = read(layers.reads().from), added = read(layers.reads().added);
    const bool data_gradient = layers.data_gradient();
    bool trains = false;
    SignalPlace output = input;
    if constexpr (kNeedsStage<Kind>) {
      StageOf<Kind> stage(layers);
      if constexpr (StageWithParameters<StageOf<Kind>>) trains = stage.trains();
      stages.push_back({std::move(stage), layers.output().size(), trains, data_gradient, input, added});
      output = {static_cast<int>(stages.size()), false};
    } else {
      layers.take<Kind>();
    }
    signals[static_cast<std::size_t>(layers.number())] = output;
    layers.output_needs_gradient(trains || data_gradient);
  };
  while (!layers.done()) std::visit(place, layers.layer());
  return stages;
}

std::size_t row_work(const Model& model) {
  std::size_t work = 0;
  for (const Parameter& parameter : model.parameters()) {
    const auto layer = static_cast<std::size_t>(parameter.layer);
    const Shape output = model.shapes()[layer + 1];
    const bool by_rows = std::visit(
        []<class Kind>(const Kind&) {
          if constexpr (kNeedsStage<Kind>) return RowStage<StageOf<Kind>>;
          return false;
        },
        model.layers()[layer]);
    if (by_rows && parameter.role == ParameterRole::weight)
      work += parameter.size * static_cast<std::size_t>(output.height) * output.width;
  }
  return work;
}

}  // namespace fedstride

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
  const auto place = [&]<class Kind>(const Kind&) {
    if constexpr (kNeedsStage<Kind>) {
      StageOf<Kind> stage(layers);
      bool trains = false;
      if constexpr (StageWithParameters<StageOf<Kind>>) trains = stage.trains();
      stages.push_back({std::move(stage), layers.input().size(), trains, layers.data_gradient()});
      if (trains) layers.add_trainable();
    } else {
      layers.take<Kind>();
    }
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

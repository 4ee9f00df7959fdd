#include "nn/stage_plan.hpp"

#include <optional>
#include <utility>

namespace fedstride {

LayerTensors LayerCursor::tensors() const {
  LayerTensors found;
  for (const Parameter& parameter : model_.parameters())
    if (parameter.layer == number()) found[parameter.role] = {parameter.offset, parameter.size};
  found.frozen = !frozen_.empty() && frozen_[next_];
  return found;
}

std::size_t LayerCursor::stride() const {
  const auto positions_read = static_cast<std::size_t>(positions());
  return positions_read * row_stride(input().size() / positions_read);
}

std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces) {
  std::vector<PlacedStage> stages;
  LayerCursor layers(model, frozen, max_rows, max_pieces);
  const auto push = [&]<class S>(S stage, std::size_t stride) {
    bool trains = false;
    if constexpr (StageWithParameters<S>) trains = stage.trains();
    stages.push_back({std::move(stage), stride, trains, layers.data_gradient()});
    if (trains) layers.add_trainable();
  };
  const auto push_product = [&](DenseStage::Options options) {
    options.data_gradient = layers.data_gradient();
    push(DenseStage(options, max_rows),
         static_cast<std::size_t>(options.positions) * row_stride(static_cast<std::size_t>(options.outputs)));
  };
  const auto place = [&]<class Kind>(const Kind&) {
    if constexpr (!kNeedsStage<Kind>) {
      layers.take<Kind>();
    } else {
      using S = StageOf<Kind>;
      if constexpr (HasProductBefore<S>) push_product(S::product_before(layers));
      std::optional<DenseStage::Options> after;
      if constexpr (HasProductAfter<S>) after = S::product_after(layers);
      S stage(layers);
      push(std::move(stage), layers.stride());
      if (after) push_product(*after);
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
          if constexpr (kNeedsStage<Kind>) return RowStage<StageOf<Kind>> && !HasProductBefore<StageOf<Kind>>;
          return false;
        },
        model.layers()[layer]);
    if (by_rows && parameter.role == ParameterRole::weight)
      work += parameter.size * static_cast<std::size_t>(output.height) * output.width;
  }
  return work;
}

}  // namespace fedstride

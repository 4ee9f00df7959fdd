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

namespace {

/// The floats from one example to the next where they have so many positions.
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
  // The signal that holds each slot, and whether a stage reads it already.
  std::vector<SignalPlace> signals(model.shapes().size());
  signals[0].number = 0;
  const auto read = [&](int slot) {
    if (slot < 0) return SignalPlace{};
    return std::exchange(signals[static_cast<std::size_t>(slot)], {signals[static_cast<std::size_t>(slot)].number, true});
  };
  // The signal that the next stage reads, and whether something that its values come from trains.
  SignalPlace input, added;
  bool data_gradient = false;
  const auto push = [&]<class S>(S stage, std::size_t stride) {
    bool trains = false;
    if constexpr (StageWithParameters<S>) trains = stage.trains();
    stages.push_back({std::move(stage), stride, trains, data_gradient, input, added});
    input = {static_cast<int>(stages.size()), false};
    added = {};
    data_gradient = data_gradient || trains;
  };
  const auto push_product = [&](DenseStage::Options options) {
    options.data_gradient = data_gradient;
    push(DenseStage(options, max_rows),
         static_cast<std::size_t>(options.positions) * row_stride(static_cast<std::size_t>(options.outputs)));
  };
  const auto place = [&]<class Kind>(const Kind&) {
    input = read(layers.reads().from);
    added = read(layers.reads().added);
    data_gradient = layers.data_gradient();
    if constexpr (!kNeedsStage<Kind>) {
      layers.take<Kind>();
    } else {
      using S = StageOf<Kind>;
      if constexpr (HasProductBefore<S>) push_product(S::product_before(layers));
      std::optional<DenseStage::Options> after;
      if constexpr (HasProductAfter<S>) after = S::product_after(layers);
      S stage(layers);
      push(std::move(stage), layers.output_stride());
      if (after) push_product(*after);
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

#include "nn/stage_plan.hpp"

#include <utility>

#include "nn/dropout.hpp"

namespace fedstride {
namespace {

/// Walks the layers once; each place() takes the layers it fuses off the line.
class Planner {
 public:
  Planner(const Model& model, const std::vector<bool>& frozen, int max_rows, int max_pieces)
      : model_(model), frozen_(frozen), max_rows_(max_rows), max_pieces_(max_pieces) {}

  std::vector<PlacedStage> plan() {
    while (next_ < model_.layers().size())
      std::visit([this](const auto& layer) { place(layer); }, model_.layers()[next_]);
    return std::move(stages_);
  }

 private:
  void place(const Conv& conv) {
    ConvStage::Options options{
        .conv = conv, .input = input(), .window = {}, .tensors = tensors(), .data_gradient = training_};
    take();
    options.relu = take_if<Relu>() != nullptr;
    const auto* pool = peek<MaxPool>();
    if (pool != nullptr && ConvStage::fits({pool->kernel, pool->stride})) {
      options.window = {pool->kernel, pool->stride};
      options.pooled = true;
      take();
      if (!options.relu) options.relu = take_if<Relu>() != nullptr;
    }
    add(ConvStage(options, max_rows_, max_pieces_), !options.tensors.frozen);
  }

  void place(const Dense& dense) {
    DenseStage::Options options{.inputs = static_cast<int>(input().size()),
                                .outputs = dense.units,
                                .tensors = tensors(),
                                .data_gradient = training_};
    take();
    options.relu = take_if<Relu>() != nullptr;
    add(DenseStage(options, max_rows_), !options.tensors.frozen);
  }

  void place(const Relu&) { place_activation<Relu>(); }
  void place(const Tanh&) { place_activation<Tanh>(); }
  void place(const MaxPool& pool) { place_pool(pool); }
  void place(const AvgPool& pool) { place_pool(pool); }

  void place(const Dropout& dropout) {
    DropoutStage stage(input().size(), dropout.rate, dropout_first_word(model_, static_cast<int>(next_)), max_rows_);
    take();
    add(std::move(stage));
  }

  void place(const Flatten&) { take(); }

  template <class Kind>
  void place_activation() {
    ActivationStage<Kind> stage(input().size());
    take();
    add(std::move(stage));
  }

  template <class Kind>
  void place_pool(const Kind& pool) {
    PoolStage<Kind> stage(input(), model_.shapes()[next_ + 1], {pool.kernel, pool.stride}, max_rows_);
    take();
    add(std::move(stage));
  }

  void add(Stage stage, bool trains = false) {
    stages_.push_back({std::move(stage), input().size(), trains, training_});
    training_ = training_ || trains;
  }

  Shape input() const { return model_.shapes()[next_]; }
  void take() { ++next_; }

  template <class Kind>
  const Kind* peek() const {
    return next_ < model_.layers().size() ? std::get_if<Kind>(&model_.layers()[next_]) : nullptr;
  }
  template <class Kind>
  const Kind* take_if() {
    const Kind* kind = peek<Kind>();
    if (kind != nullptr) take();
    return kind;
  }

  LayerTensors tensors() const {
    LayerTensors found;
    for (const Parameter& parameter : model_.parameters()) {
      if (static_cast<std::size_t>(parameter.layer) != next_) continue;
      (parameter.shape.size() > 1 ? found.weight : found.bias) = {parameter.offset, parameter.size};
    }
    found.frozen = !frozen_.empty() && frozen_[next_];
    return found;
  }

  const Model& model_;
  const std::vector<bool>& frozen_;
  int max_rows_;
  int max_pieces_;
  std::size_t next_ = 0;
  bool training_ = false;  ///< whether a stage so far trains
  std::vector<PlacedStage> stages_;
};

}  // namespace

std::vector<PlacedStage> plan_stages(const Model& model, const std::vector<bool>& frozen, int max_rows,
                                     int max_pieces) {
  return Planner(model, frozen, max_rows, max_pieces).plan();
}

}  // namespace fedstride

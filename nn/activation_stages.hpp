#pragma once

#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A function of each value on its own, unless another stage includes it (as convolutions and dense layers do their ReLU).
template <class Kind>
class ActivationStage {
 public:
  using Layer = Kind;
  explicit ActivationStage(LayerCursor& layers) : size_(layers.span()), kind_(layers.take<Kind>()) {}
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  std::size_t size_;
  Kind kind_;
};

static_assert(RowStage<ActivationStage<Relu>> && RowStage<ActivationStage<LeakyRelu>> && RowStage<ActivationStage<Gelu>>);
static_assert(RowStage<ActivationStage<Tanh>> && RowStage<ActivationStage<Sigmoid>>);

}  // namespace fedstride

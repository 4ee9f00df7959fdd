#include "core/simd.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

// Each kind computes its value y at x and, from x, y and the gradient dy with respect to y, the gradient with respect to x.

FEDSTRIDE_INLINE Lanes activation(const Relu&, Lanes x) { return positive(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Relu&, Lanes, Lanes y, Lanes dy) { return y > Lanes{} ? dy : Lanes{}; }

FEDSTRIDE_INLINE Lanes activation(const LeakyRelu& kind, Lanes x) { return x > Lanes{} ? x : x * static_cast<float>(kind.slope); }
FEDSTRIDE_INLINE Lanes activation_gradient(const LeakyRelu& kind, Lanes x, Lanes, Lanes dy) {
  return x > Lanes{} ? dy : dy * static_cast<float>(kind.slope);
}

FEDSTRIDE_INLINE Lanes activation(const Gelu&, Lanes x) { return x * standard_normal(x).distribution; }
FEDSTRIDE_INLINE Lanes activation_gradient(const Gelu&, Lanes x, Lanes, Lanes dy) {
  const NormalLanes normal = standard_normal(x);
  return dy * fma(x, normal.density, normal.distribution);
}

FEDSTRIDE_INLINE Lanes activation(const Tanh&, Lanes x) { return tanh(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Tanh&, Lanes, Lanes y, Lanes dy) { return dy * fma(-y, y, broadcast(1.0F)); }

FEDSTRIDE_INLINE Lanes activation(const Sigmoid&, Lanes x) { return sigmoid(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Sigmoid&, Lanes, Lanes y, Lanes dy) { return dy * (y * (1.0F - y)); }

/// An element-wise activation that is not part of another stage (convolutions and dense layers include a ReLU after them).
template <class Kind>
class ActivationStage final : public RowStage {
 public:
  explicit ActivationStage(LayerCursor& layers) : size_(layers.span()), kind_(layers.take<Kind>()) {}

  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    for (int row = range.first; row < range.last; ++row)
      for (std::size_t i = 0; i < size_; i += kLanes) store(out.value[row] + i, activation(kind_, load(in.value[row] + i)));
  }
  void backward(const Signal& in, const Signal& out, RowRange range) override {
    for (int row = range.first; row < range.last; ++row)
      for (std::size_t i = 0; i < size_; i += kLanes)
        store(in.gradient[row] + i,
              activation_gradient(kind_, load(in.value[row] + i), load(out.value[row] + i), load(out.gradient[row] + i)));
  }

 private:
  std::size_t size_;
  Kind kind_;
};

}  // namespace

RowStagePointer make_activation(LayerCursor& layers) {
  return std::visit(
      [&]<class Kind>(const Kind& kind) -> RowStagePointer {
        if constexpr (Kind::kTraits.is_activation) {
          static_assert(
              requires(Lanes x) { activation(kind, x), activation_gradient(kind, x, x, x); },
              "an activation needs activation and activation_gradient in nn/activation_stages.cpp");
          return std::make_unique<ActivationStage<Kind>>(layers);
        } else {
          return nullptr;  // plan_stages calls this only for activations
        }
      },
      layers.layer());
}

}  // namespace fedstride

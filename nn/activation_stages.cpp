#include "nn/activation_stages.hpp"

#include "core/simd.hpp"

namespace fedstride {
namespace {

// A kind is its value y at x, and the gradient by x from x, y and the gradient dy by y.

FEDSTRIDE_INLINE Lanes activation(const Relu&, Lanes x) { return positive(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Relu&, Lanes, Lanes y, Lanes dy) { return y > Lanes{} ? dy : Lanes{}; }

FEDSTRIDE_INLINE Lanes activation(const LeakyRelu& kind, Lanes x) { return x > Lanes{} ? x : x * static_cast<float>(kind.slope); }
FEDSTRIDE_INLINE Lanes activation_gradient(const LeakyRelu& kind, Lanes x, Lanes, Lanes dy) {
  return x > Lanes{} ? dy : dy * static_cast<float>(kind.slope);
}

FEDSTRIDE_INLINE Lanes activation(const Gelu&, Lanes x) { return x * standard_normal(x).distribution; }
FEDSTRIDE_INLINE Lanes activation_gradient(const Gelu&, Lanes x, Lanes, Lanes dy) {
  const NormalLanes normal = standard_normal(x);
  return dy * (normal.distribution + x * normal.density);
}

FEDSTRIDE_INLINE Lanes activation(const Tanh&, Lanes x) { return tanh(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Tanh&, Lanes, Lanes y, Lanes dy) { return dy * (1.0F - y * y); }

FEDSTRIDE_INLINE Lanes activation(const Sigmoid&, Lanes x) { return sigmoid(x); }
FEDSTRIDE_INLINE Lanes activation_gradient(const Sigmoid&, Lanes, Lanes y, Lanes dy) { return dy * (y * (1.0F - y)); }

}  // namespace

template <class Kind>
void ActivationStage<Kind>::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) const {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size_; i += kLanes) store(out.value[row] + i, activation(kind_, load(in.value[row] + i)));
}

template <class Kind>
void ActivationStage<Kind>::backward(const Signal& in, const Signal& out, RowRange range) const {
  for (int row = range.first; row < range.last; ++row)
    for (std::size_t i = 0; i < size_; i += kLanes)
      store(in.gradient[row] + i,
            activation_gradient(kind_, load(in.value[row] + i), load(out.value[row] + i), load(out.gradient[row] + i)));
}

template class ActivationStage<Relu>;
template class ActivationStage<LeakyRelu>;
template class ActivationStage<Gelu>;
template class ActivationStage<Tanh>;
template class ActivationStage<Sigmoid>;

}  // namespace fedstride

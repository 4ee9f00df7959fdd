#include "nn/recurrent_stage.hpp"

#include <algorithm>

#include "nn/kernels/recurrent.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {

template <class Kind>
DenseStage::Options RecurrentStage<Kind>::product_before(const LayerCursor& layers) {
  return DenseStage::Options::first_product(layers, layers.input().channels, kGates * layers.peek<Kind>()->units);
}

template <class Kind>
DenseStage::Options RecurrentStage<Kind>::own_product(const LayerCursor& layers) {
  const int units = layers.peek<Kind>()->units;
  auto options = DenseStage::Options::second_product(layers, units, kGates * units);
  options.data_gradient = false;  // of the last outputs: made here, a position at a time
  return options;
}

template <class Kind>
RecurrentStage<Kind>::RecurrentStage(LayerCursor& layers)
    : units_(layers.peek<Kind>()->units),
      positions_(layers.positions()),
      max_rows_(static_cast<std::size_t>(layers.max_rows())),
      product_(own_product(layers), layers.max_rows()),
      weight_(layers.tensors().second_weight),
      bias_(layers.tensors().second_bias) {
  layers.take<Kind>();
  recurrent_ = Buffer<float>(max_rows_ * gate_stride());
  kept_ = Buffer<float>(max_rows_ * positions_ * unit_stride());
  zeros_ = Buffer<float>(unit_stride());
}

template <class Kind>
void RecurrentStage<Kind>::prepare_training() {
  product_.prepare_training();
  last_outputs_ = Buffer<float>(max_rows_ * positions_ * unit_stride());
  if (!kIsLstm) d_recurrent_ = Buffer<float>(max_rows_ * positions_ * gate_stride());
  d_output_ = Buffer<float>(max_rows_ * unit_stride());
  d_carried_ = Buffer<float>(max_rows_ * unit_stride());
}

template <class Kind>
void RecurrentStage<Kind>::prepare_per_example() {
  product_.prepare_per_example();
  if (scratch_.size() < product_.scratch_size()) scratch_ = Buffer<float>(product_.scratch_size());
}

template <class Kind>
void RecurrentStage<Kind>::begin(const float* weights) {
  weights_ = weights;
  product_.begin(weights);
}

template <class Kind>
void RecurrentStage<Kind>::forward(const Signal& in, const Signal& out, RowRange range, const Batch*) {
  const std::size_t unit = unit_stride(), gate = gate_stride();
  const int count = range.last - range.first, outputs = kGates * units_;
  const Rows products{recurrent_.data() + range.first * gate, gate};
  for (int t = 0; t < positions_; ++t) {
    const Rows last{out.value[range.first] + (t - 1) * static_cast<std::ptrdiff_t>(unit), out.value.stride};
    dense_forward(t == 0 ? Rows{zeros_.data(), 0} : last, count, t == 0 ? 0 : units_, weights_ + weight_.offset, outputs,
                  weights_ + bias_.offset, false, products, 0, outputs);
    for (int row = range.first; row < range.last; ++row) {
      float* const gates = in.value[row] + t * gate;
      float* const output = out.value[row] + t * unit;
      const float* const product = recurrent_.data() + row * gate;
      if constexpr (kIsLstm)
        lstm_forward(units_, gates, product, t == 0 ? zeros_.data() : at(kept_, row, t - 1, unit), at(kept_, row, t, unit),
                     output);
      else
        gru_forward(units_, gates, product, t == 0 ? zeros_.data() : output - unit, at(kept_, row, t, unit), output);
    }
  }
}

template <class Kind>
void RecurrentStage<Kind>::backward(const Signal& in, const Signal& out, RowRange range) {
  const std::size_t unit = unit_stride(), gate = gate_stride();
  const int count = range.last - range.first;
  float* const d_output = d_output_.data() + range.first * unit;
  float* const d_carried = d_carried_.data() + range.first * unit;
  std::fill_n(d_output, count * unit, 0.0F);
  std::fill_n(d_carried, count * unit, 0.0F);
  for (int t = positions_; t-- > 0;) {
    for (int row = range.first; row < range.last; ++row) {
      float* const d_out = d_output_.data() + row * unit;
      float* const carried = d_carried_.data() + row * unit;
      const float* const gates = in.value[row] + t * gate;
      const float* const last_output = t == 0 ? zeros_.data() : out.value[row] + (t - 1) * unit;
      std::copy_n(last_output, unit, at(last_outputs_, row, t, unit));
      add_scaled(d_out, out.gradient[row] + t * unit, 1.0F, static_cast<std::size_t>(units_));
      if constexpr (kIsLstm) {
        lstm_backward(units_, gates, t == 0 ? zeros_.data() : at(kept_, row, t - 1, unit), at(kept_, row, t, unit), d_out,
                      carried, in.gradient[row] + t * gate);
      } else {
        gru_backward(units_, gates, last_output, at(kept_, row, t, unit), d_out, in.gradient[row] + t * gate,
                     at(d_recurrent_, row, t, gate), carried);
      }
    }
    if (t == 0) break;
    const Signal product = product_out(in);
    dense_data_gradient({product.gradient[range.first] + t * gate, product.gradient.stride}, count, weights_ + weight_.offset,
                        kGates * units_, {d_output, unit}, 0, units_);
    if constexpr (!kIsLstm)
      for (int row = range.first; row < range.last; ++row)
        add_scaled(d_output_.data() + row * unit, d_carried_.data() + row * unit, 1.0F, static_cast<std::size_t>(units_));
  }
}

template <class Kind>
void RecurrentStage<Kind>::backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) {
  backward(in, out, range);
  const auto from = [&](Signal signal) {
    signal.value.data = signal.value.data == nullptr ? nullptr : signal.value[range.first];
    signal.gradient.data = signal.gradient.data == nullptr ? nullptr : signal.gradient[range.first];
    return signal;
  };
  product_.begin_norms(from(product_in()), from(product_out(in)), range.last - range.first, squared_norms + range.first);
}

template <class Kind>
void RecurrentStage<Kind>::gradient_piece(int, const Signal& in, int rows, int, const GradientTarget& target) {
  const Signal from = product_in(), to = product_out(in);
  product_.begin_backward(to, rows, target);
  product_.backward_piece(0, 1, from, to, rows, target);
}

template <class Kind>
void RecurrentStage<Kind>::weighted_piece(int, const Signal& in, std::span<const float> factors, const GradientTarget& target) {
  product_.begin_weighted(product_out(in), factors, scratch_.data(), target);
  product_.weighted_piece(0, 1, product_in(), target);
}

template class RecurrentStage<Lstm>;
template class RecurrentStage<Gru>;

}  // namespace fedstride

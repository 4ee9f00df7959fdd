#include <algorithm>

#include "nn/kernels/sequences.hpp"
#include "nn/kernels/squares.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride {
namespace {

/// The recurrent part of an LSTM or GRU; the preceding dense stage computes the products with its inputs, at all positions at
/// once. The gates' values overwrite those products. The weight gradient is that of a dense layer over all positions, with each
/// position's previous output as input and its gates as outputs.
template <class Kind>
class RecurrentStage final : public RowStageWithParameters {
 public:
  static constexpr bool kIsLstm = std::is_same_v<Kind, Lstm>;
  static constexpr int kGates = kIsLstm ? 4 : 3;

  explicit RecurrentStage(LayerCursor& layers)
      : units_(layers.peek<Kind>()->units),
        positions_(layers.positions()),
        max_rows_(static_cast<std::size_t>(layers.max_rows())),
        product_(own_product(layers), layers.max_rows()),
        weight_(layers.tensors().second_weight),
        bias_(layers.tensors().second_bias),
        packed_(packed_weights_size(units_, kGates * units_)),
        recurrent_(max_rows_ * gate_stride()),
        kept_(max_rows_ * positions_ * unit_stride()),
        zeros_(unit_stride()) {
    layers.take<Kind>();
  }

  void prepare_training() override {
    product_.prepare_training();
    last_outputs_ = Buffer<float>(max_rows_ * positions_ * unit_stride());
    if (!kIsLstm) d_recurrent_ = Buffer<float>(max_rows_ * positions_ * gate_stride());
    by_lane_ = Buffer<float>(packed_by_lane_size(units_, kGates * units_));
    d_output_ = Buffer<float>(max_rows_ * unit_stride());
    d_carried_ = Buffer<float>(max_rows_ * unit_stride());
  }
  void prepare_per_example() override {
    product_.prepare_per_example();
    if (scratch_.size() < product_.scratch_size()) scratch_ = Buffer<float>(product_.scratch_size());
  }
  void begin(const float* weights) override {
    weights_ = weights;
    product_.begin(weights);
    pack_weights(weights_ + weight_.offset, units_, kGates * units_, packed_.data());
    if (by_lane_.size() > 0) pack_weights_by_lane(weights_ + weight_.offset, units_, kGates * units_, by_lane_.data());
  }
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch*) override {
    const std::size_t unit = unit_stride(), gate = gate_stride();
    const int count = range.last - range.first, outputs = kGates * units_;
    const Rows products{recurrent_.data() + range.first * gate, gate};
    for (int t = 0; t < positions_; ++t) {
      const Rows last{out.value[range.first] + (t - 1) * static_cast<std::ptrdiff_t>(unit), out.value.stride};
      dense_forward_packed(t == 0 ? Rows{zeros_.data(), 0} : last, count, t == 0 ? 0 : units_, packed_.data(), outputs,
                           weights_ + bias_.offset, products);
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
  void backward(const Signal& in, const Signal& out, RowRange range) override {
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
      dense_data_gradient_packed({product.gradient[range.first] + t * gate, product.gradient.stride}, count, by_lane_.data(),
                                 units_, kGates * units_, {d_output, unit});
      if constexpr (!kIsLstm)
        for (int row = range.first; row < range.last; ++row)
          add_scaled(d_output_.data() + row * unit, d_carried_.data() + row * unit, 1.0F, static_cast<std::size_t>(units_));
    }
  }
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) override {
    backward(in, out, range);
    const auto from = [&](Signal signal) {
      signal.value.data = signal.value.data == nullptr ? nullptr : signal.value[range.first];
      signal.gradient.data = signal.gradient.data == nullptr ? nullptr : signal.gradient[range.first];
      return signal;
    };
    product_.begin_norms(from(product_in()), from(product_out(in)), range.last - range.first, squared_norms + range.first);
  }

  bool trains() const override { return product_.trains(); }
  int stretches() const override { return product_.stretches(); }
  bool keeps_gradients() const override { return false; }
  void gradient_piece(int, const Signal& in, int rows, int, const GradientTarget& target) override {
    const Signal from = product_in(), to = product_out(in);
    product_.begin_backward(to, rows, target);
    product_.backward_piece(0, 1, from, to, rows, target);
  }
  void weighted_piece(int, const Signal& in, std::span<const float> factors, const SumTarget& target) override {
    product_.begin_weighted(product_out(in), factors, scratch_.data(), target);
    product_.weighted_piece(0, 1, product_in(), target);
  }

 private:
  /// Options for the product of the previous outputs with the recurrent weights.
  static DenseStage::Options own_product(const LayerCursor& layers) {
    const int units = layers.peek<Kind>()->units;
    auto options = DenseStage::Options::second_product(layers, units, kGates * units);
    options.data_gradient = false;  // the previous outputs' gradient is computed here, position by position
    return options;
  }
  std::size_t unit_stride() const { return row_stride(static_cast<std::size_t>(units_)); }
  std::size_t gate_stride() const { return row_stride(kGates * static_cast<std::size_t>(units_)); }
  /// One position of an example, in a buffer with all positions.
  float* at(Buffer<float>& all, int row, int t, std::size_t stride) const {
    return all.data() + (static_cast<std::size_t>(row) * positions_ + t) * stride;
  }
  /// Inputs and output gradients of the recurrent product.
  Signal product_in() { return {{last_outputs_.data(), positions_ * unit_stride()}, {}}; }
  Signal product_out(const Signal& in) {
    return {{}, kIsLstm ? in.gradient : Rows{d_recurrent_.data(), positions_ * gate_stride()}};
  }

  int units_;
  int positions_;
  std::size_t max_rows_;
  DenseStage product_;
  Tensor weight_;
  Tensor bias_;
  const float* weights_ = nullptr;
  Buffer<float> packed_;     ///< the recurrent weights
  Buffer<float> recurrent_;  ///< the products at one position
  Buffer<float> kept_;       ///< for each position: LSTM: the cell; GRU: the candidate's recurrent product
  Buffer<float> zeros_;
  // only for training
  Buffer<float> last_outputs_;
  Buffer<float> by_lane_;      ///< the recurrent weights, for data gradients
  Buffer<float> d_recurrent_;  ///< GRU only
  Buffer<float> d_output_;     ///< at one position, including contributions of later ones
  Buffer<float> d_carried_;    ///< gradient: LSTM: of the cell; GRU: of the previous output, bypassing the product
  Buffer<float> scratch_;      ///< only for weighted sums
};

template <class Kind>
Products product_before(const Kind& layer, const LayerCursor& layers) {
  return {
      .before = DenseStage::Options::first_product(layers, layers.input().channels, RecurrentStage<Kind>::kGates * layer.units),
      .after = {}};
}

}  // namespace

Products products_of(const Lstm& layer, const LayerCursor& layers) { return product_before(layer, layers); }
Products products_of(const Gru& layer, const LayerCursor& layers) { return product_before(layer, layers); }
ParameterStagePointer make_stage(const Lstm&, LayerCursor& layers) { return std::make_unique<RecurrentStage<Lstm>>(layers); }
ParameterStagePointer make_stage(const Gru&, LayerCursor& layers) { return std::make_unique<RecurrentStage<Gru>>(layers); }

}  // namespace fedstride

#pragma once

#include <span>

#include "nn/dense_stage.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// The recurrent part of an LSTM or GRU; the products with its inputs, of all positions at once, are the dense stage before
/// it. It keeps the gates' values where that stage wrote its products. Its weights' gradient is that of a dense product of all
/// positions, too: each position's last output with the gradient of its gates.
template <class Kind>
class RecurrentStage {
 public:
  using Layer = Kind;
  static constexpr bool kIsLstm = std::is_same_v<Kind, Lstm>;
  static constexpr int kGates = kIsLstm ? 4 : 3;

  /// The dense stage before it.
  static DenseStage::Options product_before(const LayerCursor& layers);

  explicit RecurrentStage(LayerCursor& layers);

  void prepare_training();
  void prepare_gradient() {}
  void prepare_per_example();
  void begin(const float* weights);
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range);
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);

  bool trains() const { return product_.trains(); }
  int stretches() const { return product_.stretches(); }
  int gradient_pieces() const { return 1; }
  bool keeps_gradients() const { return false; }
  void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target);
  void weighted_piece(int piece, const Signal& in, std::span<const float> factors, const GradientTarget& target);

 private:
  /// That of the last outputs with the recurrent weights.
  static DenseStage::Options own_product(const LayerCursor& layers);
  std::size_t unit_stride() const { return row_stride(static_cast<std::size_t>(units_)); }
  std::size_t gate_stride() const { return row_stride(kGates * static_cast<std::size_t>(units_)); }
  /// One position of an example in a buffer that has all of them.
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
  Buffer<float> recurrent_;  ///< the products of one position
  Buffer<float> kept_;       ///< of each position: LSTM: the cell; GRU: the candidate's recurrent product
  Buffer<float> zeros_;
  // training only
  Buffer<float> last_outputs_;
  Buffer<float> d_recurrent_;  ///< GRU
  Buffer<float> d_output_;     ///< of one position, with what later ones contribute
  Buffer<float> d_carried_;    ///< LSTM: of the cell; GRU: of the last output, past the product
  Buffer<float> scratch_;      ///< weighted sums only
};
static_assert(RowStageWithParameters<RecurrentStage<Lstm>> && RowStageWithParameters<RecurrentStage<Gru>>);

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/conv_data_gradient.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/pool.hpp"
#include "nn/kernels/winograd.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A convolution, including a ReLU and a max-pool that may follow it; if pooled, only the pooled values are written to memory. If
/// a ReLU or a pool follows, few output gradients are nonzero, and the backward pass visits only these "spots".
class ConvStage final : public RowStageWithParameters {
 public:
  /// Takes the convolution and any ReLU and max-pool that follow it, in either order.
  explicit ConvStage(LayerCursor& layers);

  void prepare_training() override;
  void prepare_gradient() override;
  void prepare_per_example() override;
  void begin(const float* weights) override;
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) override;
  void backward(const Signal& in, const Signal& out, RowRange range) override;
  void backward_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms) override;

  bool trains() const override { return !options_.tensors.frozen; }
  int stretches() const override { return channel_blocks_ + (options_.tensors.bias.size > 0 ? channel_blocks_ : 0); }
  int gradient_pieces() const override { return channel_blocks_; }
  bool keeps_gradients() const override { return dense() && trains() && !(sums_by_rows_ && keeps_examples_); }
  // A piece is one block of channels.
  void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target) override;
  void weighted_piece(int piece, const Signal& in, std::span<const float> factors, const SumTarget& target) override;

 private:
  struct Options {
    Conv conv;
    Shape input;
    bool relu = false;
    bool pooled = false;
    Window window;
    LayerTensors tensors;
    bool data_gradient = false;
  };
  static Options options_of(LayerCursor& layers);
  const float* input_of(const Signal& in, int row) const;
  void add_border(const float* from, float* to) const { fedstride::add_border(from, options_.input, options_.conv.padding, to); }
  void remove_border(const float* from, float* to) const;
  void forward_direct(const Signal& in, const Signal& out, RowRange range, bool training);
  void forward_winograd(const Signal& in, const Signal& out, RowRange range, bool training);
  /// Pools (or only unpads) one example's outputs into out.value; row_of(y) returns their row y and is called in ascending order.
  void emit(int row, const Signal& out, bool training, auto&& row_of);
  /// True if an earlier layer, or the layer itself, needs gradients.
  bool needs_backward() const { return options_.data_gradient || !options_.tensors.frozen; }
  /// True if few output gradients are zero.
  bool dense() const { return !options_.relu && !options_.pooled; }
  bool by_winograd() const { return dense() && winograd_ && winograd_->gradient_pays(); }
  /// True if each example's inputs are read once per pass, so their border is added while reading and not stored.
  bool adds_borders_on_read() const { return options_.conv.padding > 0 && by_winograd() && keeps_examples(); }
  /// True if per_example keeps each example's weight gradient instead of its spots, which it does if that takes no more memory.
  bool keeps_examples() const { return static_cast<std::size_t>(shape_.filter_size()) + 1 <= 2 * spot_capacity(places_); }
  /// Writes the filter gradients, summed over the range's examples, and then the bias gradients.
  void dense_examples(RowRange range, const Signal& in, const Signal& out, float* gradient);
  void winograd_examples(RowRange range, const Signal& in, const Signal& out, float* gradient);
  void backward_dense(const Signal& in, const Signal& out, RowRange range);
  void backward_dense_norms(const Signal& in, const Signal& out, RowRange range, double* squared_norms);
  void dense_data_gradient(RowRange range, const Signal& in, const Signal& out);
  void sum_dense(int first, int last, const Signal& in, int rows, float* gradient, float* bias_gradient);
  void prepare_spots(bool by_piece);
  /// The index of the first channel's spot list for an example or a piece.
  std::size_t spot_list(int owner) const { return static_cast<std::size_t>(owner) * options_.conv.channels; }
  SpotList spots(std::size_t list) const;
  void find_spots(std::size_t first_list, int row, const Signal& out);
  /// Finds the spots of one example and computes its data gradient; returns the index of its first spot list.
  std::size_t backward_row(int row, int piece, bool by_piece, const Signal& in, const Signal& out);
  /// Calls sum(first channel, last channel, gradient, bias gradient), which adds a piece's gradients to zeros in `memory`, and
  /// reports them.
  template <class T, class Sum>
  void report_piece(int piece, const TargetOf<T>& target, T* memory, Sum&& sum);
  /// The number of images summed at once.
  int group() const;
  void sum_spots(int piece, int first, int last, const Signal& in, int rows, float* gradient, float* bias_gradient);
  /// Adds the vectors' gradients, each multiplied by factor_of(its number); those with factor 0 are omitted.
  template <class T, class FactorOf>
  void sum_vectors(int first, int last, const float* vectors, std::size_t distance, int count, FactorOf&& factor_of, T* gradient,
                   T* bias_gradient) const;
  /// The sums of each example's gradient, computed again, times its factor.
  void weigh_spots(int first, int last, const Signal& in, std::span<const float> factors, double* gradient,
                   double* bias_gradient);
  void weigh_dense(const Signal& in, std::span<const float> factors, const SumTarget& target);

  Options options_;
  ConvShape shape_;
  Shape output_;  ///< after pooling
  int channel_blocks_ = 1;
  int channels_per_block_ = 1;
  std::size_t padded_channels_;
  std::size_t places_;  ///< pooled outputs per channel
  std::size_t max_rows_;
  std::size_t max_pieces_;
  const float* weights_ = nullptr;
  Buffer<float> packed_;
  Buffer<float> bias_;
  Buffer<float> bordered_;  ///< inputs with their zero border, one row each; empty if borders are added while reading
  std::optional<Winograd> winograd_;
  Buffer<float> filters_;  ///< transformed
  // only for training
  bool sums_by_rows_ = false;  ///< each piece of rows sums its own weight gradient: for small filters or Winograd's algorithm
  std::size_t partial_size_ = 0;
  Buffer<float> partial_;
  Buffer<std::uint8_t> winners_;
  std::size_t capacity_ = 0;  ///< spots per filter and image
  Buffer<std::uint32_t> bases_;
  Buffer<std::uint32_t> shifts_;
  Buffer<std::uint32_t> spot_sources_;
  Buffer<float> spot_gradients_;
  Buffer<int> spot_counts_;
  Buffer<float> bordered_gradient_;
  Buffer<SpotList> lists_;
  Buffer<const float*> inputs_;
  Buffer<float> filter_gradient_;
  // only for training with dense gradients
  std::optional<ConvDataGradient> data_;
  Rows dense_gradients_;  ///< of the outputs, from the last backward pass
  // only for per_example and weighted_sum
  bool keeps_examples_ = false;  ///< each example's weight gradient is kept; otherwise its spots are
  std::size_t example_size_ = 0;
  Buffer<float> examples_;  ///< each example's weight gradient, or scratch for each piece
};

}  // namespace fedstride

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/pool.hpp"
#include "nn/kernels/winograd.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

/// A convolution with the ReLU and the max-pool next to it, if any. Only pooled values go to memory; backwards, only the
/// spots that a gradient reaches are looked at.
class ConvStage {
 public:
  struct Options {
    Conv conv;
    Shape input;
    bool relu = false;
    bool pooled = false;
    Window window;
    LayerTensors tensors;
    bool data_gradient = false;  ///< whether somebody below needs the gradient of the inputs
  };

  ConvStage(const Options& options, int max_rows, int max_pieces);

  /// A window that fits this stage: its places have a byte's worth of numbers.
  static bool fits(Window window) { return window.kernel * window.kernel <= kMaxPlaces; }

  /// Makes room for what backward and gradient_piece need.
  void prepare_training();
  void begin(const float* weights);
  void forward(const Signal& in, const Signal& out, RowRange range, bool training);
  void backward(const Signal& in, const Signal& out, RowRange range);

  int stretches() const { return channel_blocks_ + (options_.tensors.bias.size > 0 ? channel_blocks_ : 0); }
  int gradient_pieces() const { return channel_blocks_; }
  /// Weight gradient of one block of channels; `row_pieces` is how many pieces backward was called for.
  void gradient_piece(int piece, const Signal& in, int rows, int row_pieces, const GradientTarget& target);

 private:
  const float* input_of(const Signal& in, int row) const;
  void add_border(const float* from, float* to) const;
  void remove_border(const float* from, float* to) const;
  void forward_direct(const Signal& in, const Signal& out, RowRange range, bool training);
  void forward_winograd(const Signal& in, const Signal& out, RowRange range, bool training);
  /// Pools, or only unpads, one example's outputs into out.value; row_of(y) gives row y of them, asked for in order.
  template <class RowOf>
  void emit(int row, const Signal& out, bool training, RowOf&& row_of);
  /// Spots are kept where: one example's of each piece, or every example's.
  std::size_t spot_list(int row, int piece) const {
    return static_cast<std::size_t>(sums_by_rows_ ? piece : row) * options_.conv.channels;
  }
  SpotList spots(std::size_t list) const;
  void find_spots(int row, int piece, const Signal& out);
  void sum_spots(int piece, const Signal& in, int rows, float* gradient, float* bias_gradient);
  void sum_rows(int first, int last, int row_pieces, float* gradient, float* bias_gradient) const;

  Options options_;
  ConvShape shape_;
  Shape output_;  ///< after pooling
  int channel_blocks_ = 1;
  int channels_per_block_ = 1;
  std::size_t padded_channels_;
  std::size_t places_;  ///< of pooled outputs, a channel
  std::size_t max_rows_;
  std::size_t max_pieces_;
  const float* weights_ = nullptr;
  Buffer<float> packed_;
  Buffer<float> bias_;
  Buffer<float> bordered_;  ///< inputs with their zero border, a row each
  Buffer<float> rows_;      ///< a piece's last few output rows before pooling
  std::optional<Winograd> winograd_;
  Buffer<float> filters_;  ///< transformed
  Buffer<float> scratch_;  ///< a piece's matrices and outputs
  // training only
  bool sums_by_rows_ = false;  ///< each piece by rows adds up a weight gradient of its own: for small filters
  std::size_t partial_size_ = 0;
  Buffer<float> partial_;
  Buffer<std::uint8_t> winners_;
  std::size_t capacity_ = 0;  ///< of a filter's list of spots in one picture
  Buffer<std::uint32_t> bases_;
  Buffer<std::uint32_t> shifts_;
  Buffer<std::uint32_t> spot_sources_;
  Buffer<float> spot_gradients_;
  Buffer<int> spot_counts_;
  Buffer<float> bordered_gradient_;
  Buffer<SpotList> lists_;
  Buffer<const float*> inputs_;
  Buffer<float> filter_gradient_;
};

}  // namespace fedstride

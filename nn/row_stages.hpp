#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/pool.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

// Stages without parameters: each example separately, pieces of a batch by rows.

/// A max-pool or average pool that no convolution includes.
template <class Kind>
class PoolStage {
 public:
  using Layer = Kind;
  explicit PoolStage(LayerCursor& layers);
  void prepare_training();
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  Shape input_;
  Shape output_;
  Window window_;
  int padding_ = 0;
  std::size_t max_rows_;
  Buffer<std::uint32_t> winners_;  ///< max-pool: index of the input value that is each output
};

class GlobalAvgPoolStage {
 public:
  using Layer = GlobalAvgPool;
  explicit GlobalAvgPoolStage(LayerCursor& layers) : input_(layers.input()) { layers.take<GlobalAvgPool>(); }
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  std::size_t places() const { return static_cast<std::size_t>(input_.height) * input_.width; }
  Shape input_;
};

class DropoutStage {
 public:
  using Layer = Dropout;
  explicit DropoutStage(LayerCursor& layers);
  void prepare_training();
  /// Without a batch (evaluation) nothing is dropped.
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch);
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  /// One example: values times mask. The floats behind a position's values are zero and stay zero.
  void apply(const float* from, const float* mask, float* to) const;

  std::size_t positions_;
  std::size_t size_;  ///< values of a position
  double rate_ = 0;
  std::size_t first_word_;
  std::size_t max_rows_;
  Buffer<float> masks_;
};

static_assert(RowStage<PoolStage<MaxPool>> && RowStage<PoolStage<AvgPool>> && RowStage<GlobalAvgPoolStage>);
static_assert(RowStage<DropoutStage>);

}  // namespace fedstride

#pragma once

#include "core/shape.hpp"
#include "nn/layer.hpp"
#include "nn/stage.hpp"

namespace fedstride {

// Begin, end and shortcut of a residual block: each example separately.

class ForkStage {
 public:
  using Layer = Fork;
  explicit ForkStage(LayerCursor& layers) : size_(layers.span()) { layers.take<Fork>(); }
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  std::size_t size_;
};

class AddStage {
 public:
  using Layer = Add;
  explicit AddStage(LayerCursor& layers) : size_(layers.span()) { layers.take<Add>(); }
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  std::size_t size_;
};

class SubsampleStage {
 public:
  using Layer = Subsample;
  explicit SubsampleStage(LayerCursor& layers) : input_(layers.input()) {
    stride_ = layers.take<Subsample>().stride;
    output_ = layers.output();
  }
  void prepare_training() {}
  void forward(const Signal& in, const Signal& out, RowRange range, const Batch* batch) const;
  void backward(const Signal& in, const Signal& out, RowRange range) const;

 private:
  template <class Body>
  void for_each_place(Body&& body) const;

  Shape input_;
  Shape output_;
  int stride_ = 1;
};

static_assert(RowStage<ForkStage> && RowStage<AddStage> && RowStage<SubsampleStage>);

}  // namespace fedstride

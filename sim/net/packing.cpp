#include "sim/net/packing.hpp"

#include <algorithm>
#include <cassert>

#include "nn/model.hpp"

namespace fedstride {

Packing::Packing(const Model& model, int copies) {
  for (int copy = 0; copy < copies; ++copy) {
    for (const Parameter& parameter : model.parameters()) tensors_.push_back({spread_ + parameter.offset, parameter.size});
    packed_ += model.parameter_count();
    spread_ += model.size();
  }
}

Packing::Packing(std::size_t parameters) : tensors_{{0, parameters}}, packed_(parameters), spread_(parameters) {}

void Packing::pack(Vector& values) const {
  assert(values.size() == spread_);
  float* to = values.data();
  for (const Tensor& tensor : tensors_) {
    const float* from = values.data() + tensor.offset;
    to = std::copy(from, from + tensor.size, to);  // `to` is never after `from`
  }
  values.resize(packed_);
}

void Packing::unpack(Vector& values) const {
  assert(values.size() == packed_);
  values.resize(spread_);
  std::size_t packed = packed_;
  std::size_t end = spread_;  // everything from here on is in place
  for (auto tensor = tensors_.rbegin(); tensor != tensors_.rend(); ++tensor) {
    packed -= tensor->size;
    float* place = values.data() + tensor->offset;
    std::copy_backward(values.data() + packed, values.data() + packed + tensor->size, place + tensor->size);
    std::fill(place + tensor->size, values.data() + end, 0.0F);
    end = tensor->offset;
  }
  std::fill(values.data(), values.data() + end, 0.0F);
}

}  // namespace fedstride

#pragma once

#include <cstddef>
#include <vector>

#include "core/vector.hpp"

namespace fedstride {

class Model;

/// The parameters of a model as they are sent: tensor after tensor in the order of Model::parameters(), each as it lies in
/// memory, without the zeros between them that align it; for a vector of several models, one behind the other, likewise. Packing
/// and unpacking are inverse on vectors whose gaps are 0.
class Packing {
 public:
  Packing() = default;
  explicit Packing(const Model& model, int copies = 1);
  /// One tensor, which needs no alignment.
  explicit Packing(std::size_t parameters);

  std::size_t size() const { return packed_; }         ///< of a packed vector: the number of parameters
  std::size_t spread_size() const { return spread_; }  ///< of an unpacked one

  /// Removes the gaps, in place; `values` has spread_size() numbers before and size() after.
  void pack(Vector& values) const;
  /// Puts zeros into the gaps again, in place.
  void unpack(Vector& values) const;

 private:
  struct Tensor {
    std::size_t offset = 0;  ///< of the unpacked vector
    std::size_t size = 0;
  };
  std::vector<Tensor> tensors_;
  std::size_t packed_ = 0;
  std::size_t spread_ = 0;
};

/// The packings of what is sent each way: the model, with the vector that the local objective's server sends beside it, and updates, with what
/// clients send beside theirs.
struct Packings {
  Packing model = {};
  Packing update = {};
};

}  // namespace fedstride

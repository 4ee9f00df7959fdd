#pragma once

#include <cstddef>
#include <vector>

#include "client/model_coding.hpp"
#include "client/update_coding.hpp"
#include "core/vector.hpp"

namespace fedstride {

class Model;

/// The wire layout of a model's parameters: tensors in the order of Model::parameters(), each as in memory, without the alignment
/// padding between them. A vector that holds several models has them one after another, each in this layout. Packing and
/// unpacking are inverses for vectors whose padding is 0.
class Packing {
 public:
  Packing() = default;
  explicit Packing(const Model& model, int copies = 1);
  /// A single tensor without padding.
  explicit Packing(std::size_t parameters);

  std::size_t size() const { return packed_; }         ///< size of a packed vector: the number of parameters
  std::size_t spread_size() const { return spread_; }  ///< size of an unpacked vector

  /// Removes the padding in place; `values` has spread_size() numbers before and size() after.
  void pack(Vector& values) const;
  /// Inserts zeros as padding, in place.
  void unpack(Vector& values) const;

 private:
  struct Tensor {
    std::size_t offset = 0;  ///< in the unpacked vector
    std::size_t size = 0;
  };
  std::vector<Tensor> tensors_;
  std::size_t packed_ = 0;
  std::size_t spread_ = 0;
};

/// How models and updates are sent: their packings, which include the server's and the clients' additional vectors, and their
/// codes if compressed.
struct Packings {
  Packing model = {};
  Packing update = {};
  ModelCoding model_coding = {};
  UpdateCoding update_coding = {};
};

}  // namespace fedstride

#pragma once

#include <vector>

#include "client/compression/compressor.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// Returns true for each layer flagged in either list. Each list has one flag per layer, or is empty.
std::vector<bool> either(const std::vector<bool>& one, const std::vector<bool>& other);

/// The trained tensors of a model, in order, or of `copies` consecutive models, as in an update followed by the vector that the
/// local objective sends with it. `frozen` has one flag per layer, or is empty.
std::vector<ParameterRange> trained_ranges(const Model& model, const std::vector<bool>& frozen, std::size_t copies = 1);

/// The trained tensors with more than one dimension, as row-major matrices with one row per output and one
/// column per input of the layer, or the reverse for dense layers.
std::vector<CodedMatrix> trained_matrices(const Model& model, const std::vector<bool>& frozen);

}  // namespace fedstride

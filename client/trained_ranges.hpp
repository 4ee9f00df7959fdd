#pragma once

#include <vector>

#include "client/compression/compressor.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// The layers that have either flag. Lists have one flag per layer, or are empty.
std::vector<bool> either(const std::vector<bool>& one, const std::vector<bool>& other);

/// The trained tensors of a model, in order, or of `copies` consecutive models, as in an update followed by what the local
/// objective sends with it. `frozen` has one flag per layer, or is empty.
std::vector<ParameterRange> trained_ranges(const Model& model, const std::vector<bool>& frozen, std::size_t copies = 1);

/// The tensors among these that have more than one dimension, as matrices by rows: the outputs of a layer by its
/// inputs, or the reverse for dense layers.
std::vector<CodedMatrix> trained_matrices(const Model& model, const std::vector<bool>& frozen);

}  // namespace fedstride

#pragma once

#include <vector>

#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// The layers that have either flag; a list of flags, one a layer, may be empty.
std::vector<bool> either(const std::vector<bool>& one, const std::vector<bool>& other);

/// The trained tensors of a model, in order; of `copies` models that lie one behind the other, as in an update with what the local
/// objective sends beside the change. `frozen` has a flag a layer, or is empty.
std::vector<ParameterRange> trained_ranges(const Model& model, const std::vector<bool>& frozen, std::size_t copies = 1);

}  // namespace fedstride

#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"

namespace fedstride {

struct Setup;

// What coordinator and clients of one experiment must agree on, worked out alike on both sides.

/// Digest of what determines the model: the lasting settings, which clients are sent, the data and who holds what of them. Not of the build.
std::string experiment_digest(const Setup& setup);
/// Identity of a client's rows, in their order.
std::string rows_hash(std::span<const Row> rows);

}  // namespace fedstride

#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"

namespace fedstride {

struct Setup;

// What coordinator and clients of one experiment must agree on, worked out alike on both sides.

/// The settings a client is sent: all that must stay as it is when a run goes on, as config.toml.
std::string settings_for_clients(const Setup& setup);
/// Digest of what determines the model: these settings, the data and who holds what of them. Not of the build.
std::string experiment_digest(const Setup& setup);
/// Identity of a client's rows, in their order.
std::string rows_hash(std::span<const Row> rows);

}  // namespace fedstride

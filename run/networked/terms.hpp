#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"
#include "run/setup.hpp"
#include "net/messages.hpp"

namespace fedstride {

// What coordinator and clients of one experiment must agree on.

/// Digest of what determines the model: the settings that last, the data and who holds what of them, not the build. A client
/// that brings its own rows knows another one: of its own data, and of the form it was given.
std::string experiment_digest(const Setup& setup);

/// The coordinator's welcome, but for the heartbeat: settings, its digest and, for clients that bring their own rows, the form
/// of the data. Throws Error (usage) for what is too long to be sent.
Welcome welcome_to(const Setup& setup);
/// A client's side of the experiment; its data set is in configuration.data_dir. Throws Error.
Setup prepare_member(const Configuration& configuration, ClientId client, const Welcome& welcome);
/// Identity of a client's rows, in their order.
std::string rows_hash(std::span<const Row> rows);
/// Of rows 0, 1, ... up to so many.
std::string rows_hash(std::uint64_t first_rows);

}  // namespace fedstride

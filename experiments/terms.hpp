#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"
#include "experiments/setup.hpp"
#include "net/messages.hpp"

namespace fedstride {

// What coordinator and clients of one experiment must agree on.

/// The coordinator's welcome (but for the heartbeat): settings, form of the data, and a digest of what determines the model:
/// the settings that last, the data and who holds what of them, not the build. Throws Error (usage) for what is too long to
/// be sent.
Welcome welcome_to(const Setup& setup);
/// A client's side of the experiment; its data set is in configuration.data_dir. Throws Error.
Setup prepare_member(const Configuration& configuration, ClientId client, const Welcome& welcome);
/// Identity of a client's rows, in their order.
std::string rows_hash(std::span<const Row> rows);

}  // namespace fedstride

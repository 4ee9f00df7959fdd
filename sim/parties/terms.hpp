#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"
#include "sim/net/messages.hpp"
#include "sim/net/packing.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {

// The terms on which the coordinator and clients of an experiment must agree.

/// Returns a digest of everything that determines the model except the build: the lasting settings, the data and their
/// assignment. For a client with its own rows, the digest covers only that client's data and the schema it received.
std::string experiment_digest(const Setup& setup);

/// Returns the coordinator's welcome without the heartbeat and the client's rows: the build, settings, experiment digest, model
/// line and data schema. Throws Error (usage) if it would be too long to send with any client's rows.
Welcome welcome_to(const Setup& setup);
/// For partitions that read a file, which only the coordinator has: adds the client's rows to its welcome. Does nothing for other
/// partitions, which each side computes itself.
void tell_rows(const Setup& setup, ClientId client, Welcome& welcome);
/// Prepares the client's side of the experiment; its data set is in configuration.data_dir. Throws Error.
Setup prepare_member(const Configuration& configuration, ClientId client, const Welcome& welcome);
/// Returns how models and updates are packed and coded in this experiment.
Packings packings_of(const Setup& setup);
/// Returns the hash of a client's row numbers, in order.
std::string rows_hash(std::span<const Row> rows);
/// Returns the hash of row numbers 0 to `first_rows` - 1.
std::string rows_hash(std::uint64_t first_rows);

}  // namespace fedstride

#pragma once

#include <span>
#include <string>

#include "data/dataset.hpp"
#include "net/messages.hpp"
#include "net/packing.hpp"
#include "run/setup.hpp"

namespace fedstride {

// The terms that coordinator and clients of one experiment must agree on.

/// Digest of everything that determines the model except the build: the lasting settings, the data and their assignment. A
/// client that brings its own rows has a different one: of its own data, and of the form it was given.
std::string experiment_digest(const Setup& setup);

/// The coordinator's welcome, but for the heartbeat and the client's rows: settings, their digest, the model's line, the form
/// of the data. Throws Error (usage) if it, with any client's rows, is too long to be sent.
Welcome welcome_to(const Setup& setup);
/// Puts the client's rows into its welcome, where the coordinator alone can say which they are: of a partition that
/// reads a file the client never opens it, whose place is the coordinator's affair. Nothing to do for other partitions, which every side deals
/// out by itself.
void tell_rows(const Setup& setup, ClientId client, Welcome& welcome);
/// A client's side of the experiment; its data set is in configuration.data_dir. Throws Error.
Setup prepare_member(const Configuration& configuration, ClientId client, const Welcome& welcome);
/// How vectors are sent in this experiment.
Packings packings_of(const Setup& setup);
/// Identity of a client's rows, in their order.
std::string rows_hash(std::span<const Row> rows);
/// The hash of rows 0 to `count` - 1.
std::string rows_hash(std::uint64_t first_rows);

}  // namespace fedstride

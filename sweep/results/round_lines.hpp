#pragma once

#include <cstdint>
#include <filesystem>

#include "sweep/results/results.hpp"

namespace fedstride {

/// The rounds of a rounds.jsonl, in order from 1. An incomplete last line is ignored: its round was being
/// written. Throws Error (failure), one line naming the file and its line, for a line that no run writes.
///
/// A round's numbers are those of its line under their names; of its clients steps, rejected_steps, rejected_share,
/// learning_rate (mean); failed_updates; epsilon_spent, delta_spent, client_epsilon_spent, client_delta_spent.
/// A client's are those of its entry, and rejected_share. Clients are in order within a round; They are
/// read only if `clients`.
void read_rounds(const std::filesystem::path& path, bool clients, CellResult& result);

}  // namespace fedstride

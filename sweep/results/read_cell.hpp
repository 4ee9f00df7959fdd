#pragma once

#include <filesystem>

#include "sweep/results/results.hpp"

namespace fedstride {

/// The folder of a cell, given its sweep's or run's folder.
std::filesystem::path cell_folder(const std::filesystem::path& folder, const Cell& cell);

/// Reads a cell's folder: a run, or the result.json of another command; the experiment gives the command and the target. With a
/// damaged file, the cell's status is "failed", with a one-line error. Never throws.
CellResult read_cell(const Cell& cell, const std::filesystem::path& folder, const Experiment& experiment);

/// Bytes of the folder's rounds.jsonl; 0 if there is none.
std::uint64_t round_bytes(const std::filesystem::path& folder);

/// Reads the rounds of a rounds.jsonl, in order from 1. Ignores an incomplete last line, whose round was being written. Throws
/// Error (failure), naming the file and the line, for an invalid line.
///
/// A round's numbers come from its line and, computed from its clients, steps, rejected_steps, rejected_share and means such as
/// learning_rate; failed_updates; epsilon_spent, delta_spent, client_epsilon_spent, client_delta_spent. A client's numbers are
/// its entry's, and rejected_share. Clients are sorted within a round, and read only if `clients`.
void read_rounds(const std::filesystem::path& path, bool clients, CellResult& result);

}  // namespace fedstride

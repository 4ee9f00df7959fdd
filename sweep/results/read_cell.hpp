#pragma once

#include <filesystem>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Returns the folder of a cell, given its sweep's or run's folder.
std::filesystem::path cell_folder(const std::filesystem::path& folder, const Cell& cell);

/// Reads a cell's folder: a run, or the result.json of another command; the experiment specifies the command and the target. If
/// a file is damaged, the cell's status is "failed", with a one-line error. Never throws.
CellResult read_cell(const Cell& cell, const std::filesystem::path& folder, const Experiment& experiment);

/// Returns the size in bytes of the folder's rounds.jsonl; 0 if missing.
std::uint64_t round_bytes(const std::filesystem::path& folder);

/// Reads the rounds in a rounds.jsonl, in order from 1. Ignores an incomplete last line, whose round was still being written.
/// Throws Error (failure), naming the file and the line, for an invalid line.
///
/// A round's numbers come from its line, including failed_updates, epsilon_spent, delta_spent, client_epsilon_spent and
/// client_delta_spent; steps, rejected_steps, rejected_share and means such as learning_rate are computed from its clients. A
/// client's numbers are those of its entry, and rejected_share. Clients are sorted within a round, and kept only if `clients` is
/// true.
void read_rounds(const std::filesystem::path& path, bool clients, CellResult& result);

}  // namespace fedstride

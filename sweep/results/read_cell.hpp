#pragma once

#include <filesystem>

#include "sweep/results/results.hpp"

namespace fedstride {

/// The folder of a cell of the sweep (or the run) in `folder`.
std::filesystem::path cell_folder(const std::filesystem::path& folder, const Cell& cell);

/// Reads a cell's folder: a run's, or that of another command (result.json). A damaged file makes the cell failed, with one
/// line on the damage. Never throws.
CellResult read_cell(const Cell& cell, const std::filesystem::path& folder, bool is_run);

/// Bytes of the folder's rounds.jsonl; 0 if there is none.
std::uint64_t round_bytes(const std::filesystem::path& folder);

}  // namespace fedstride

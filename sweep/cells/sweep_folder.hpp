#pragma once

#include <filesystem>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Returns the folder of a sweep's results: `out`, or sweeps/NAME if `out` is empty.
std::filesystem::path sweep_path(const Experiment& experiment, const std::string& out);

/// Throws Error (usage) if the folder belongs to another experiment or contains something else; the folder need not exist.
void check_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment);

/// Returns the path of the key for naming a sweep's private cells; only the sweep's owner can read the file (mode 0600).
std::filesystem::path sweep_key(const std::filesystem::path& folder);
/// Creates the folder and the key if they are missing and any cell of the experiment may be private. Throws Error (failure).
void keep_sweep_key(const std::filesystem::path& folder, const Experiment& experiment);

/// Creates the folder and writes experiment.toml and sweep.json: the experiment's name, file, scale and command, the
/// settings fixed by the command line, the input hashes and the machine.
void write_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment, const InputHashes& inputs);

}  // namespace fedstride

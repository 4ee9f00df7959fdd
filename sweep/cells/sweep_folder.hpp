#pragma once

#include <filesystem>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// The folder of a sweep's results: `out`, or sweeps/NAME.
std::filesystem::path sweep_path(const Experiment& experiment, const std::string& out);

/// Throws Error (usage) if the folder is another experiment's or holds something else; it need not exist.
void check_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment);

/// The file with the key of a sweep's cells under privacy: mode 0600, for the sweep's owner.
std::filesystem::path sweep_key(const std::filesystem::path& folder);
/// Makes the folder and the key, unless they are there, if a cell of the experiment may be under privacy. Throws Error (failure).
void keep_sweep_key(const std::filesystem::path& folder, const Experiment& experiment);

/// Makes the folder and writes experiment.toml and sweep.json: the name, file, scale and command of the experiment,
/// the settings fixed by the command line (marked so), the hashes of the inputs, the machine.
void write_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment, const InputHashes& inputs);

}  // namespace fedstride

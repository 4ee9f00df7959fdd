#pragma once

#include <filesystem>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Where a sweep's results go: `out`, or sweeps/NAME.
std::filesystem::path sweep_path(const Experiment& experiment, const std::string& out);

/// Throws Error (usage) if the folder is another experiment's or holds something else; it need not be there.
void check_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment);

/// Makes the folder and writes experiment.toml and sweep.json: the name, file, scale and command of the experiment,
/// what the command line fixed (settings marked so), the hashes of what is read, the machine.
void write_sweep_folder(const std::filesystem::path& folder, const Experiment& experiment, const InputHashes& inputs);

}  // namespace fedstride

#pragma once

#include <filesystem>

namespace fedstride {

/// The number of processors that this process may use: those it may run on (sched_getaffinity), but no more than its control group's
/// quota pays for, rounded up, as in a container or a Slurm job. At least 1. `root` replaces "/" in tests.
int usable_processors(const std::filesystem::path& root = "/");

}  // namespace fedstride

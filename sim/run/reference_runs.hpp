#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "sim/settings/configuration.hpp"

namespace fedstride {

/// A run whose final model has the same hash on every machine.
struct ReferenceRun {
  std::string name;
  std::string hash;  ///< in hexadecimal; empty: not yet known
  Settings settings;
  std::size_t line = 0, column = 0;  ///< position of the hash in the file, from 1
};

/// Reads a TOML file of reference runs: `numerics-version`, a table [common] with settings of all runs, and for each run a
/// table [run.NAME] with its own settings and its hash. Data files are expected next to the file. Throws Error (usage) if
/// the file is malformed or has another numerics version. With `to_update`, any version is accepted, but the hashes must be where
/// update_reference_runs can replace them.
std::vector<ReferenceRun> read_reference_runs(const std::string& path, bool to_update = false);

/// Carries out the run in a temporary folder and returns its model's hash; empty if `stop` ended it. 0 threads means one per
/// processor.
std::string hash_of(const ReferenceRun& reference, int threads, const std::atomic<bool>* stop = nullptr);

/// Writes these hashes, in the order of the runs, and this build's numerics version to the file. Throws Error (usage) if the
/// file has changed.
void update_reference_runs(const std::string& path, const std::vector<std::string>& hashes);

}  // namespace fedstride

#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Every setting of a run's cell as text, defaults included; without those that say where things lie or how many threads
/// work. Empty for cells of another command, and for settings that this version does not know.
std::map<std::string, std::string> resolved_settings(const Cell& cell);

/// The settings that all cells share, by name; those that are an empty text are left out. For a command other
/// than `run` they are those of the experiment file. Looks at the first kMaxCellsResolved configurations.
std::vector<std::pair<std::string, std::string>> fixed_settings(const SweepResults& results);
inline constexpr std::size_t kMaxCellsResolved = 200;

/// True for the results of a folder of one run.
bool is_one_run(const SweepResults& results);

/// Several runs as the cells of one sweep, so that they stand on common axes. The settings in which they differ are the axes;
/// runs that differ in the seed alone are averaged. More than kMaxKeysOfRuns differences, or two runs with the same settings,
/// make the folder's name the axis "run" instead.
SweepResults joined_runs(const std::vector<SweepResults>& runs);
inline constexpr std::size_t kMaxKeysOfRuns = 3;

}  // namespace fedstride

#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sweep/results/comparison.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// Returns every setting of a run's cell as text, including defaults but not output, data folders or threads. Empty for cells of
/// another command, and for cells with settings that this version does not know.
std::map<std::string, std::string> resolved_settings(const Cell& cell);

struct FixedSetting {
  std::string key;
  std::string value;
  bool is_default = false;  ///< whether it is the default of the program or the chosen part
};
/// Returns the nonempty settings that all cells share, by name; for commands other than run, the experiment file's settings.
/// Examines only the first kMaxCellsResolved configurations.
std::vector<FixedSetting> fixed_settings(const SweepResults& results);
inline constexpr std::size_t kMaxCellsResolved = 200;

/// Returns the settings of each method and condition of a table, such as "prox: mu 0.1; scaffold: learning-rate 0.05", except
/// settings that are in the table, common to all its cells, tuned, or the program's defaults.
std::string settings_of_methods(const SweepResults& results, const MethodTable& table);

/// True if the results come from the folder of a single run.
bool is_one_run(const SweepResults& results);

/// Joins several runs as the cells of one sweep, so that figures compare them. The settings that differ are the axes; runs that
/// differ only in the seed are averaged. If more than kMaxKeysOfRuns settings differ, or two runs have the same settings and
/// seed, the only axis is "run", with the folders' names.
SweepResults joined_runs(const std::vector<SweepResults>& runs);
inline constexpr std::size_t kMaxKeysOfRuns = 3;

}  // namespace fedstride

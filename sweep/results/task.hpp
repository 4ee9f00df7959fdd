#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/json.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Returns a task for python/fedstride_report, which reads results and writes tables, pages and exports: the names of clients'
/// numbers, and the default settings. The caller adds "do", what that needs, and the folders in "sweeps".
Json report_task();

/// Returns what Python needs to read `path`, the folder of a sweep, or of one run as a sweep of one cell: the experiment, each cell's
/// point, folder, state, resolved settings (of the first kMaxCellsResolved configurations) and epsilon by accountant. With
/// `is_recorded`, also each data set and whether its files are its authors'. Throws Error (usage) if the folder contains neither.
Json sweep_task(const std::filesystem::path& path, bool is_recorded = false);
inline constexpr std::size_t kMaxCellsResolved = 200;

}  // namespace fedstride

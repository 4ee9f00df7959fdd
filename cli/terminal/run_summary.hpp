#pragma once

#include <string>

#include "cli/terminal/progress_bar.hpp"
#include "run/run.hpp"

namespace fedstride {

/// The end of `run`, `serve` and `launch`: prints rounds, accuracy, updates left out, the results' folder and privacy, unless
/// the run is quiet; or, as `json`, summary.json with the folder's name. After a run that was interrupted it says what goes on
/// with it, and throws the exit code.
void end_run(const RunSummary& summary, const ProgressBar& progress, bool json, const std::string& goes_on);

}  // namespace fedstride

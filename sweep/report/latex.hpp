#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// LaTeX tables, to include by the command input: one for each of a sweep's grids (sweep/report/result_grid.hpp), with a row for
/// each method and a column for each condition. Needs only the package booktabs.
std::string latex_tables(const std::vector<SweepResults>& sweeps);

/// The text escaped for LaTeX. Letters beyond ASCII stay as they are (UTF-8 by inputenc).
std::string latex_text(std::string_view text);

}  // namespace fedstride

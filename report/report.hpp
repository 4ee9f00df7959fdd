#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes one self-contained page on sweeps (or runs): claims with their outcomes, figures, tables, configuration,
/// machine, commands. gnuplot draws the figures; the page contains the SVG, a folder beside it, named like the page, the
/// PNG and SVG files (results.html: results-figures/). Throws Error (failure) if gnuplot is missing (names the
/// package) or fails, or the page cannot be written.
void write_report(const std::vector<SweepResults>& sweeps, const std::string& path);

}  // namespace fedstride

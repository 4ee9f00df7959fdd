#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes one self-contained page on sweeps (or runs): claims and whether they hold, figures, tables, configuration,
/// machine, commands. Figures are drawn by gnuplot; SVG stands in the page, PNG and SVG files beside it in a folder
/// named like the page (results.html: results-figures/). Throws Error (failure) if gnuplot is missing (names the
/// package) or fails, or the page cannot be written.
void write_report(const std::vector<SweepResults>& sweeps, const std::string& path);

}  // namespace fedstride

#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes one self-contained page about sweeps or runs: claims with outcomes, figures, tables, settings, machine and commands.
/// The page embeds figures as SVG; a folder next to it has them as SVG, PNG and PDF files (results-figures/ for results.html).
/// Throws Error (failure) if rsvg-convert is missing (naming its package) or fails, or if the page cannot be written.
void write_report(const std::vector<SweepResults>& sweeps, const std::string& path);

/// Returns LaTeX tables, to be included with \input: one for each grid of a sweep (sweep/report/result_grid.hpp), with a row for
/// each method and a column for each condition. The tables need only the package booktabs.
std::string latex_tables(const std::vector<SweepResults>& sweeps);

/// Returns the text escaped for LaTeX. Non-ASCII letters stay unchanged (UTF-8 through inputenc).
std::string latex_text(std::string_view text);

}  // namespace fedstride

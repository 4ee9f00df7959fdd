#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes one self-contained page on sweeps or runs: claims with their outcomes, figures, tables, settings, machine and
/// commands. The page embeds the figures as SVG; a folder beside it has them as SVG, PNG and PDF files (results.html:
/// results-figures/). Throws Error (failure) if rsvg-convert is missing (naming its package) or fails, or if the page cannot be
/// written.
void write_report(const std::vector<SweepResults>& sweeps, const std::string& path);

}  // namespace fedstride

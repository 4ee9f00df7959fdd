#pragma once

#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Tables for LaTeX, to be read in with \input: one for each sweep, a row for each configuration after the last round. Of
/// accuracies and losses: mean, half the width of the 95 % interval, the best mean in bold, the p-value of the paired test
/// against it (sweep/results/paired.hpp). Needs the package booktabs alone.
std::string latex_tables(const std::vector<SweepResults>& sweeps);

/// Text in which nothing is a command of LaTeX. Letters beyond ASCII stay as they are (inputenc's UTF-8).
std::string latex_text(std::string_view text);

}  // namespace fedstride

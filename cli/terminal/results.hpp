#pragma once

#include <string>

#include "sweep/results/results.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// --by: the measure of progress in figures and tables.
void add_by_flag(CLI::App& command, std::string& by);
/// Shows the results by that measure; does nothing if it is empty. Throws Error (usage) if no finished cell has such numbers.
void measure_by(const std::string& by, SweepResults& results);

/// Prints a sweep's table of results and the winner, if any cell is finished.
void print_results(const SweepResults& results);

}  // namespace fedstride

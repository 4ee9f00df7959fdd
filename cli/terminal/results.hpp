#pragma once

#include <string>

#include "sweep/results/results.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// Adds --by, which selects the measure of progress in figures and tables.
void add_by_flag(CLI::App& command, std::string& by);
/// Sets that measure for the results; does nothing if `by` is empty. Throws Error (usage) if no finished cell has its numbers.
void measure_by(const std::string& by, SweepResults& results);

/// Prints a sweep's table of results and the winner, if any cell is finished.
void print_results(const SweepResults& results);

}  // namespace fedstride

#pragma once

#include <string>

#include "sweep/results/results.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// --by: what figures and tables measure progress by.
void add_by_flag(CLI::App& command, std::string& by);
/// Lets the results be shown by that; nothing if it is empty. Throws Error (usage) if no finished cell has such numbers.
void measure_by(const std::string& by, SweepResults& results);

/// Prints a sweep's table of results and who won, if any cell is finished.
void print_results(const SweepResults& results);

}  // namespace fedstride

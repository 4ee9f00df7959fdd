#pragma once

#include <string>

#include "core/json.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// Adds --by, which selects the measure of progress in figures and tables.
void add_by_flag(CLI::App& command, std::string& by);

/// Prints the means over seeds of the final accuracy and loss, for each configuration of these sweeps or runs (a list of
/// sweep_task's results); nothing if no run is finished. The tables have the rest.
void print_means(const Json& sweeps);

}  // namespace fedstride

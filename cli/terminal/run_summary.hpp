#pragma once

#include <string>

#include "run/run.hpp"

namespace fedstride {

/// Prints the last lines of `run`, `serve` and `launch`: rounds, accuracy, updates left out, the results' folder, privacy.
void print_summary(const RunSummary& summary);

/// After a run that was interrupted: says what goes on with it, and throws the exit code.
[[noreturn]] void stop_interrupted(const std::string& command);

}  // namespace fedstride

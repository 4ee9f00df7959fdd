#pragma once

#include <string>

#include "run/run.hpp"

namespace fedstride {

/// What `run`, `serve` and `launch` say at the end: rounds, accuracy, what was left out, where the results are, privacy.
void print_summary(const RunSummary& summary);

/// After a run that was interrupted: says what goes on with it, and throws the exit code.
[[noreturn]] void stop_interrupted(const std::string& command);

}  // namespace fedstride

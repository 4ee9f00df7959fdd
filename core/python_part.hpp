#pragma once

#include <span>
#include <string>

namespace fedstride {

/// Runs `python3 -m MODULE ARGUMENTS...` with a module of the program's Python part (in the tree: python/), which is found beside
/// the program, and waits for its end. python3 is $FEDSTRIDE_PYTHON, otherwise the system's (/usr/bin), otherwise the first on
/// PATH. It inherits the descriptors in `kept` (as /dev/fd/NUMBER) and our standard error; its standard output goes to `output` if
/// that is not null (the first MiB), otherwise to ours. Returns its exit code, or minus the number of the signal that ended it.
/// Throws Error (failure) if Python or the part is not installed, and Stopped once the program has been asked to stop: the module
/// then receives SIGTERM, and SIGKILL a second later. It never outlives this process.
int run_python_part(const std::string& module, std::span<const std::string> arguments, std::string* output = nullptr,
                    std::span<const int> kept = {});

}  // namespace fedstride

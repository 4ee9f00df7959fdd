#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace fedstride {

/// Thrown if python3, a package or the program's own Python part is missing; the message says what to install.
class MissingPython : public Error {
 public:
  using Error::Error;
};

/// What a module of the Python part printed, and its exit code, or minus the number of the signal that ended it.
struct PythonOutcome {
  int code = 0;
  std::string out;
};

/// Runs `python3 -m MODULE FILE`, where FILE contains `task`, with a module of the program's Python part (in the tree: python/), which is found beside
/// the program, and waits for its end. python3 is $FEDSTRIDE_PYTHON, otherwise the system's (/usr/bin), otherwise the first on
/// PATH. It inherits the descriptors in `kept` (as /dev/fd/NUMBER) and our standard error; of what it prints, the first 64 MiB are
/// kept. Throws MissingPython if Python or the part is not installed, and Stopped once the program has been asked to stop: the module
/// then receives SIGTERM, and SIGKILL a second later. It never outlives this process.
PythonOutcome run_python_part(const std::string& module, std::string_view task, std::span<const int> kept = {});
/// What to install for a module of the Python part: "install it with: sudo apt install ...".
std::string python_packages(std::string_view module);

}  // namespace fedstride

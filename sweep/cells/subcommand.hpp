#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace fedstride {

/// The output of a program.
struct ProgramOutput {
  int code = 0;          ///< exit code; 128 + signal for one that was ended by a signal
  bool stopped = false;  ///< ended by *stop or by the time limit
  std::string out;
  std::string err;  ///< its beginning
};

/// Runs a program, without a shell, to its end; *stop or the passing of `seconds` (0: no limit) ends it early. Throws
/// Error (failure) if it cannot be started or writes more than 64 MiB.
ProgramOutput run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop, double seconds = 0);

}  // namespace fedstride

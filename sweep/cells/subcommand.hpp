#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace fedstride {

/// The output of a program.
struct ProgramOutput {
  int code = 0;          ///< exit code; 128 + signal if a signal ended it
  bool stopped = false;  ///< ended by *stop, the time limit or the output limit
  std::string out;
  std::string err;  ///< at most 64 KiB
};

/// Runs a program without a shell until it ends; *stop or a time limit of `seconds` (0: none) kills it. Throws Error (failure)
/// if it cannot be started or prints more than 64 MiB.
ProgramOutput run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop, double seconds = 0);

}  // namespace fedstride

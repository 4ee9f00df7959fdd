#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace fedstride {

/// The output of a program.
struct ProgramOutput {
  int code = 0;          ///< exit code; 128 + signal if a signal ended the program
  bool stopped = false;  ///< whether *stop, the time limit or the output limit ended the program
  std::string out;
  std::string err;  ///< at most 64 KiB
};

/// Runs a program without a shell until it ends; kills it if *stop becomes true or after `seconds` (0: no limit). Throws Error
/// (failure) if it cannot be started or prints more than 64 MiB.
ProgramOutput run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop, double seconds = 0);

}  // namespace fedstride

#pragma once

namespace fedstride {

/// The program: does what the command line says and returns its exit status (0; 1: it could not be done; 2: it makes no
/// sense). Errors are one line on standard error. A program of one's own that has added parts calls it from main.
int command_line(int argc, char** argv);

/// The same for a program that has its own ways with errors, as often and on as many threads as it likes: throws Error, for a
/// command line that makes no sense too, and Stopped. Returns 0, or the exit status of a command that has said itself, on
/// std::cerr, why it did not succeed.
int carry_out_command_line(int argc, char** argv);

}  // namespace fedstride

#pragma once

namespace fedstride {

/// The program: does what the command line says and returns its exit status (0; 1: it could not be done; 2: it makes no
/// sense). Errors are one line on standard error. A program of one's own that has added parts calls it from main.
int command_line(int argc, char** argv);

}  // namespace fedstride

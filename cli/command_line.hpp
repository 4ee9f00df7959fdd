#pragma once

namespace fedstride {

struct CommandInfo;

/// The program: carries out the command line and returns the exit status (0: success; 1: failure; 2: invalid command line or
/// configuration; 130: stopped). Errors are one line on standard error. A program that adds its own parts calls it from main.
int command_line(int argc, char** argv);

/// The same for programs that handle errors themselves: throws Error, including for an invalid command line, and Stopped. May be
/// called any number of times, from any threads. Returns 0, or the exit status of a command that has already printed its error to
/// std::cerr.
int carry_out_command_line(int argc, char** argv);

/// All commands and their flags (cli/manual/manual.hpp).
CommandInfo describe_program();

}  // namespace fedstride

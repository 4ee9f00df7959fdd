#pragma once

namespace fedstride {

struct CommandInfo;

/// The program: carries out the command line and returns the exit status (0: success; 1: failure; 2: invalid command line or
/// configuration; 130: stopped). Prints an error as one line on standard error. Programs that add their own parts call it from
/// main.
int command_line(int argc, char** argv);

/// The same for programs that handle errors themselves: throws Stopped or Error, the latter also for an invalid command line. May
/// be called any number of times, from any thread. Returns 0, or the exit status of a command that has already printed its error
/// to std::cerr.
int carry_out_command_line(int argc, char** argv);

/// All commands and their flags (cli/manual/manual.hpp).
CommandInfo describe_program();

}  // namespace fedstride

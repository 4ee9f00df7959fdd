#include "cli/command_line.hpp"

int main(int argc, char** argv) { return fedstride::command_line(argc, argv); }

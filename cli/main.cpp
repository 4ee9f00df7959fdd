#include <csignal>

#include "cli/command_line.hpp"
#include "core/descriptor.hpp"

int main(int argc, char** argv) {
  fedstride::hold_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding `ulimit -f` becomes a write error that names the file
  return fedstride::command_line(argc, argv);
}

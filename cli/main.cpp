#include "cli/command_line.hpp"
#include "core/descriptor.hpp"

int main(int argc, char** argv) {
  fedstride::hold_standard_descriptors();
  return fedstride::command_line(argc, argv);
}

#pragma once

#include "cli/command_line.hpp"

// The whole program, with the parts that have been added before it is called.

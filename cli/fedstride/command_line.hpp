#pragma once

#include "cli/command_line.hpp"

// Runs the whole program, including the parts registered before the call.

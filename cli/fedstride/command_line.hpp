#pragma once

#include "cli/command_line.hpp"

// The whole program, including the parts added before the call.

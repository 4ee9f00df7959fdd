#pragma once

#include "dp/draws/draws.hpp"

// Draws records into lots, and accounts for their privacy. The draws are fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/draws/draws.hpp"

// How records are drawn, and at what cost. Draws are a list fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/bounds/bounds.hpp"

// The bound on a contribution. Bounds are a list fixed when fedstride is compiled (CONTRIBUTING.md).

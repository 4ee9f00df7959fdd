#pragma once

#include "dp/bounds/bounds.hpp"

// Bounds on contributions. The list of bounds is fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/bounds/bounds.hpp"

// The bound on a contribution. The list of bounds is fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/draws/draws.hpp"

// How records are drawn, and what that costs. The list of draws is fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"

// Computes the epsilon of a Spending with any accountant. The accountants are fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"

// The epsilon of a Spending by any accountant. The list of accountants is fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"

// The epsilon of a Spending by any accountant. Accountants are a list fixed when fedstride is compiled (CONTRIBUTING.md).

#pragma once

#include <string>

namespace fedstride {

/// "1:05", "2:00:31"; "?" for what is not a time.
std::string clock_text(double seconds);

}  // namespace fedstride

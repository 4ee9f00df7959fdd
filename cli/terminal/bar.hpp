#pragma once

#include <cstddef>
#include <string>

namespace fedstride {

/// "1:05" or "2:00:31"; "?" if the time is negative or not finite.
std::string clock_text(double seconds);

/// "[#########.....................]" with this many characters between the brackets; full for a share of 1 or more.
std::string bar_text(double share, std::size_t width);

}  // namespace fedstride

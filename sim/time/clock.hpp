#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace fedstride {

/// Virtual time since a run began, or a span of it. It is in whole nanoseconds, so sums and comparisons are exact.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
inline constexpr Nanoseconds kSecond = 1'000'000'000;

/// The nearest number of nanoseconds. Throws Error (usage) that mentions `what` unless 0 <= seconds <= 1e8, about three years.
Nanoseconds nanoseconds(double seconds, const std::string& what);
inline double seconds_of(Nanoseconds span) { return static_cast<double>(span) / 1e9; }
/// The sum; kNever if either argument is kNever. Throws Error (failure) if it exceeds 292 years.
Nanoseconds later(Nanoseconds time, Nanoseconds span);

}  // namespace fedstride

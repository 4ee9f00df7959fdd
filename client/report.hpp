#pragma once

#include <limits>
#include <string>

#include "core/task.hpp"

namespace fedstride {

/// A mean training loss above this means that training diverged, and is not reported: one client's could hide all others' in the
/// mean. (An untrained model has a loss of about ln(classes).)
inline constexpr double kMaxLoss = 1e6;
/// The largest learning rate and gradient norm: weights are floats and would overflow with larger ones.
inline constexpr double kMaxRate = std::numeric_limits<float>::max();

/// A report in the form that may be sent: numbers outside the possible range, such as infinity, become NaN (null in the results).
ClientReport sendable(ClientReport report);

/// Why no training can have produced this report in any experiment, in one line; empty if it is possible. NaN means no number. A
/// report returned by sendable() is always possible.
std::string impossible(const ClientReport& report);

}  // namespace fedstride

#pragma once

#include <limits>
#include <string>

#include "core/task.hpp"

namespace fedstride {

/// A mean training loss above this is that of training that has diverged, and is not told: one client's could hide all others'
/// in the mean. (A model that knows nothing has a loss of ln(classes).)
inline constexpr double kMaxLoss = 1e6;
/// Rates and norms of gradients: weights are floats, which larger ones would leave.
inline constexpr double kMaxRate = std::numeric_limits<float>::max();

/// A report in the form that may be sent: numbers that no update can be used with, infinite ones for instance, become NaN. The
/// results say null for that.
ClientReport sendable(ClientReport report);

/// The reason why no training can have given a report, whatever the experiment; empty if there is none. NaN stands for no
/// number. A report that sendable() has given is always possible.
std::string impossible(const ClientReport& report);

}  // namespace fedstride

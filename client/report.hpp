#pragma once

#include <span>
#include <string>

#include "core/client_report.hpp"

namespace fedstride {

/// A report in the form that may be sent: numbers outside the possible range, such as infinity, become NaN (null in the results), or
/// 0 if the server computes with them.
ClientReport sendable(ClientReport report);

/// Why no training in any experiment can have produced this report, in one line; empty if it is possible. NaN means no number. A
/// report returned by sendable() is always possible.
std::string impossible(const ClientReport& report);

/// What remains of a report outside the sum under secure aggregation.
ClientReport stripped(const ClientReport& report);
/// True if the report has any other number.
bool is_more_than_stripped(const ClientReport& report);

/// The sum of reports: of the additive numbers, exact and rounded once, omitting impossible ones. Its loss is the mean over
/// reports without a failure, weighted by gradient examples; NaN: none.
ClientReport sum_of(std::span<const ClientReport> reports);

}  // namespace fedstride

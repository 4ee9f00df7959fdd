#pragma once

#include <span>
#include <string>

#include "core/client_report.hpp"

namespace fedstride {

/// Returns the report in a form that may be sent: impossible numbers, such as infinity, become NaN (null in the results), or 0 if
/// the server computes with them.
ClientReport sendable(ClientReport report);

/// One line that says why no training in any experiment can have produced this report; empty if it is possible. NaN stands for
/// an unknown number. A report returned by sendable() is always possible.
std::string impossible(const ClientReport& report);

/// The part of a report that clients still send under secure aggregation, outside the sum.
ClientReport stripped(const ClientReport& report);
/// True if the report has numbers that stripped() removes.
bool is_more_than_stripped(const ClientReport& report);

/// Sums the additive numbers of reports exactly and rounds once, omitting impossible numbers. The sum's loss is the mean over
/// reports without a failure, weighted by gradient examples; NaN if there are no examples.
ClientReport sum_of(std::span<const ClientReport> reports);

}  // namespace fedstride

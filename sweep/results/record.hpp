#pragma once

#include <string>
#include <string_view>

#include "sweep/results/results.hpp"

namespace fedstride {

/// The record of a sweep's results that is kept beside its experiment (results/NAME.json) and that figures and tables of documents are
/// drawn from: the rule (what was tuned, on which rows, by which metric), settings, data with their status and hashes, processor, build
/// and libraries, the day (UTC, "2026-11-27"), and every mean over seeds after the last round with its 95 % interval. JSON, 2 spaces
/// deep, a mean a line. Throws Error (failure) for a sweep that is not finished: its numbers would change.
std::string results_record(const SweepResults& results, std::string_view day);

/// Today, or the day of SOURCE_DATE_EPOCH (reproducible-builds.org) if that is set.
std::string day_of_record();

}  // namespace fedstride

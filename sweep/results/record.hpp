#pragma once

#include <string>
#include <string_view>

#include "sweep/results/results.hpp"

namespace fedstride {

/// Returns the record of a sweep's results, which is kept next to its experiment (results/NAME.json) and is the source of figures
/// and tables in documents. It contains the tuning rule (what was tuned, on which rows, by which metric), settings, data with
/// their status and hashes, processor, build and libraries, the day (UTC, "2026-11-27"), and every mean over seeds after the last
/// round with its 95 % interval. It is JSON, indented by 2 spaces, with one mean per line. Throws Error (failure) for an
/// unfinished sweep, whose numbers would change.
std::string results_record(const SweepResults& results, std::string_view day);

/// Returns today's date (UTC), or that of SOURCE_DATE_EPOCH (reproducible-builds.org) if set.
std::string day_of_record();

}  // namespace fedstride

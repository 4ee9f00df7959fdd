#pragma once

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes cells.csv, rounds.csv, clients.csv, summary.csv and expectations.csv (RFC 4180; docs/results.md says what every column is).
/// Each replaces its predecessor whole. The same results give the same bytes, but for the columns of kTimings.
void write_tables(const SweepResults& results);

}  // namespace fedstride

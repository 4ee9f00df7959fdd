#pragma once

#include "sweep/results/results.hpp"

namespace fedstride {

/// Writes cells.csv, rounds.csv, clients.csv, summary.csv and expectations.csv (RFC 4180; docs/results.md describes every
/// column). Each file is replaced atomically. The same results give the same bytes, except in the columns of kTimings.
void write_tables(const SweepResults& results);

}  // namespace fedstride

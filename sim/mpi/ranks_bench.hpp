#pragma once

#include <cstddef>

#include "sim/mpi/ranks.hpp"

namespace fedstride {

/// The cost of one round's messages between ranks: medians in seconds on rank 0, measured from when all are ready.
struct RanksSpeed {
  double sum = 0;        ///< summing the integers of a model
  double broadcast = 0;  ///< broadcasting the model
  double answers = 0;    ///< gathering 1 KiB from each rank
};

/// Measures them for a model with `parameters` numbers, for about `seconds` each. Called by all ranks; only rank 0's result is
/// meaningful.
RanksSpeed measure_ranks(Ranks& ranks, std::size_t parameters, double seconds);

}  // namespace fedstride

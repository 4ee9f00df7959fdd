#pragma once

#include <cstddef>

#include "sim/mpi/ranks.hpp"

namespace fedstride {

/// The cost of one round's messages between ranks: medians in seconds on rank 0, measured from the time all ranks are ready.
struct RanksSpeed {
  double sum = 0;        ///< summing the integers of a model
  double broadcast = 0;  ///< broadcasting the model
  double answers = 0;    ///< gathering 1 KiB from each rank
};

/// Measures each cost for about `seconds`, for a model with `parameters` numbers. All ranks must call this; only rank 0's result
/// is meaningful.
RanksSpeed measure_ranks(Ranks& ranks, std::size_t parameters, double seconds);

}  // namespace fedstride

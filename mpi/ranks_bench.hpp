#pragma once

#include <cstddef>

#include "mpi/ranks.hpp"

namespace fedstride {

/// The cost of one round's messages between ranks, medians in seconds, at rank 0 from when all are there.
struct RanksSpeed {
  double sum = 0;        ///< adding up the integers of a model's sum
  double broadcast = 0;  ///< sending the model
  double answers = 0;    ///< gathering 1 KiB of each rank
};

/// Measures them for a model of `parameters` for about `seconds` each; called by all ranks, of use at rank 0.
RanksSpeed measure_ranks(Ranks& ranks, std::size_t parameters, double seconds);

}  // namespace fedstride

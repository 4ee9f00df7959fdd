#pragma once

#include <atomic>
#include <string>

#include "sim/mpi/ranks.hpp"
#include "sim/run/fleets.hpp"

namespace fedstride {

/// An MPI job, seen from one of its processes.
struct MpiJob {
  /// The part of the command line that must be equal on all ranks, one setting per line.
  std::string command_line = {};
  std::string data = {};      ///< this rank's own data; empty: the same as rank 0's
  std::string data_dir = {};  ///< this rank's data folder; empty: the same as rank 0's
  const std::atomic<bool>* stop = nullptr;
};

/// On rank 0: makes the fleet of a run whose clients are spread over the ranks; each rank trains its share with its own threads
/// and fills its own part of the round's accumulator. The parts are summed as integers, and the noise is then drawn once, as
/// in other fleets. Results are bit-identical to a run in one process. Supports one run at a time.
FleetMaker mpi_fleet(Ranks& ranks, const MpiJob& job);

/// On the other ranks: serves the requests of rank 0's fleets, for one run after another, until dismissed. An error on this rank
/// is reported to rank 0, which ends the run.
void work_for_rank_0(Ranks& ranks, const MpiJob& job);

/// On rank 0: ends work_for_rank_0 on the other ranks.
void dismiss(Ranks& ranks);

/// Dismisses the other ranks when it is destroyed.
class DismissOnExit {
 public:
  explicit DismissOnExit(Ranks& ranks) : ranks_(ranks) {}
  ~DismissOnExit() { dismiss(ranks_); }
  DismissOnExit& operator=(DismissOnExit&&) = delete;

 private:
  Ranks& ranks_;
};

}  // namespace fedstride

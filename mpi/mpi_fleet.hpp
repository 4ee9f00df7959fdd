#pragma once

#include <atomic>
#include <string>

#include "mpi/ranks.hpp"
#include "run/run.hpp"

namespace fedstride {

/// A job on MPI, as each of its processes was started.
struct MpiJob {
  /// The part of the command line that must be the same at all ranks, a setting a line.
  std::string command_line = {};
  std::string data_dir = {};  ///< of this rank alone; empty: rank 0's
  const std::atomic<bool>* stop = nullptr;
};

/// On rank 0: makes the fleet of a run whose clients are spread over the ranks, each of which trains its share with threads of
/// its own. Each fills its own part of the round's accumulator; the parts are added up as integers, and the noise is drawn once,
/// after that, where it always is. Results are those of the fleet in one process, bit for bit. One run at a time.
FleetMaker mpi_fleet(Ranks& ranks, const MpiJob& job);

/// On the other ranks: does what rank 0's fleets ask for, run after run, until they are dismissed. An error of this rank alone
/// becomes rank 0's, which ends its run.
void work_for_rank_0(Ranks& ranks, const MpiJob& job);

/// On rank 0: ends work_for_rank_0 at the others.
void dismiss(Ranks& ranks);

/// Dismisses the other ranks when it goes, however that comes about.
class Dismissal {
 public:
  explicit Dismissal(Ranks& ranks) : ranks_(ranks) {}
  ~Dismissal() { dismiss(ranks_); }
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  Ranks& ranks_;
};

}  // namespace fedstride

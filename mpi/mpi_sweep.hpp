#pragma once

#include <functional>
#include <vector>

#include "mpi/mpi_fleet.hpp"
#include "mpi/ranks.hpp"
#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// A sweep as one leader has read it.
struct SweepPlan {
  Experiment experiment;
  std::vector<Cell> cells;
  SweepOptions options;  ///< jobs must be 1, and there is one shard
};

/// The ranks of a job in groups that work on a cell each; the first rank of a group leads it, rank 0 of all ranks leads the first.
class SweepGroups {
 public:
  /// Groups of `ranks_per_cell`, which must divide the number of ranks. Called by all.
  SweepGroups(Ranks& all, int ranks_per_cell, const MpiJob& job);
  /// A leader dismisses its group, and the first one the other leaders if no sweep has begun.
  ~SweepGroups();
  SweepGroups(const SweepGroups&) = delete;
  SweepGroups& operator=(const SweepGroups&) = delete;

  /// The group of this rank; its rank 0 is its leader.
  Ranks& own() { return *own_; }
  /// The leaders, for a leader.
  Ranks& leaders() { return *leaders_; }
  bool leads() const { return own_->rank() == 0; }
  bool leads_all() const { return leads() && leaders_->rank() == 0; }

 private:
  friend SweepSummary lead_sweep(SweepGroups&, const MpiJob&, SweepPlan, const SweepObserver&);
  std::unique_ptr<Ranks> own_;
  std::unique_ptr<Ranks> leaders_;
  bool begun_ = false;
};

/// On the first leader: carries out a sweep together with the others, and writes its tables when all of them have ended.
/// Each group has a list of cells, costliest first, by the estimates of a dry run, dealt out as clients are to ranks; who has done
/// with its own takes from the ends of the others' lists. Throws Error if another leader has read something else.
SweepSummary lead_sweep(SweepGroups& groups, const MpiJob& job, SweepPlan plan, const SweepObserver& observer);

/// On the other leaders: takes part in it, or returns if the first leader gave up. read() reads the same experiment.
void follow_sweep(SweepGroups& groups, const MpiJob& job, const std::function<SweepPlan()>& read);

/// The order in which a group tries all cells, given each group's own list.
std::vector<std::size_t> order_of_group(const std::vector<std::vector<std::size_t>>& lists, std::size_t group);

}  // namespace fedstride

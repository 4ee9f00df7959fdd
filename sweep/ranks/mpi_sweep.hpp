#pragma once

#include <functional>
#include <vector>

#include "sim/mpi/mpi_fleet.hpp"
#include "sim/mpi/ranks.hpp"
#include "sweep/cells/sweep.hpp"

namespace fedstride {

/// A sweep as read by one leader.
struct SweepPlan {
  Experiment experiment;
  std::vector<Cell> cells;
  SweepOptions options;  ///< with one job and one shard
};

/// Splits the ranks of a job into groups, each of which works on one cell at a time. A group's first rank leads it; rank 0 of the
/// job leads the first group.
class SweepGroups {
 public:
  /// Makes groups of `ranks_per_cell` ranks, which must divide the number of ranks. Called by all ranks.
  SweepGroups(Ranks& all, int ranks_per_cell, const MpiJob& job);
  /// A leader dismisses its group; the first leader also dismisses the others if no sweep has started.
  ~SweepGroups();
  SweepGroups& operator=(SweepGroups&&) = delete;

  /// Returns this rank's group, whose rank 0 leads it.
  Ranks& own() { return *own_; }
  /// Returns the leaders of all groups. Only leaders may call this.
  Ranks& leaders() { return *leaders_; }
  bool leads() const { return own_->rank() == 0; }
  bool leads_all() const { return leads() && leaders_->rank() == 0; }

 private:
  friend SweepSummary lead_sweep(SweepGroups&, const MpiJob&, SweepPlan, const SweepObserver&);
  std::unique_ptr<Ranks> own_;
  std::unique_ptr<Ranks> leaders_;
  bool begun_ = false;
};

/// On the first leader: runs a sweep together with the other leaders, and writes its tables when all groups have finished. Each
/// group has a list of cells, most expensive first by the dry run's estimates; idle groups steal from the cheap ends of other
/// lists. Throws Error if another leader has read different cells.
SweepSummary lead_sweep(SweepGroups& groups, const MpiJob& job, SweepPlan plan, const SweepObserver& observer);

/// On the other leaders: takes part in the sweep, or returns if the first leader aborts it. read() must read the same experiment.
void follow_sweep(SweepGroups& groups, const MpiJob& job, const std::function<SweepPlan()>& read);

/// Returns the order in which a group tries all cells: its own list, then the other groups' lists from their ends.
std::vector<std::size_t> order_of_group(const std::vector<std::vector<std::size_t>>& lists, std::size_t group);

}  // namespace fedstride

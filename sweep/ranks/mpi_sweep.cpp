#include "sweep/ranks/mpi_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/stop.hpp"
#include "sim/mpi/message_bytes.hpp"
#include "sim/mpi/placement.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/estimate.hpp"
#include "sweep/cells/sweep_folder.hpp"

namespace fedstride {
namespace {

constexpr std::uint64_t kMaxSweepBytes = std::uint64_t{1} << 32;
constexpr double kLeaderTimeout = 600;  // seconds; a cell may take a long time
constexpr char kSweepStarts = 'y';
constexpr char kSweepAborted = 'n';

using Lists = std::vector<std::vector<std::size_t>>;
using Failures = std::vector<std::pair<std::size_t, std::string>>;  // a cell's index and its error

std::string digest_of(const std::vector<Cell>& cells) {
  Hash hash;
  for (const Cell& cell : cells) hash.text(cell.key);
  return hash.hex();
}

Lists lists_of(const SweepPlan& plan, std::size_t groups) {
  const auto estimates = estimate(plan.experiment, plan.cells, plan.options);
  std::vector<double> seconds;
  seconds.reserve(estimates.size());
  double most = 0;
  for (const CellEstimate& one : estimates)
    if (std::isfinite(one.seconds)) most = std::max(most, one.seconds);
  for (const CellEstimate& one : estimates) seconds.push_back(std::isfinite(one.seconds) ? one.seconds : most);
  return placed_by_cost(seconds, groups);
}

SweepSummary carry_out_list(SweepGroups& groups, const MpiJob& job, SweepPlan& plan, const Lists& lists,
                            const SweepObserver& observer) {
  plan.options.order = order_of_group(lists, static_cast<std::size_t>(groups.leaders().rank()));
  if (groups.own().size() > 1) plan.options.fleet = mpi_fleet(groups.own(), job);
  return sweep(plan.experiment, plan.cells, plan.options, observer);
}

Failures failures_of(const SweepPlan& plan, const SweepSummary& summary) {
  Failures failures;
  for (const auto& [cell, error] : summary.failed) {
    const auto at = std::ranges::find(plan.cells, cell.key, &Cell::key);
    failures.emplace_back(static_cast<std::size_t>(at - plan.cells.begin()), error);
  }
  return failures;
}

}  // namespace

SweepGroups::SweepGroups(Ranks& all, int ranks_per_cell, const MpiJob& job) {
  own_ = all.split(all.rank() / ranks_per_cell);
  leaders_ = all.split(own_->rank() == 0 ? 0 : 1);
  leaders_->watch(job.stop, kLeaderTimeout);
}

SweepGroups::~SweepGroups() {
  if (leads_all() && !begun_) {
    std::string aborted(1, kSweepAborted);
    leaders_->broadcast(aborted, 1);
  }
  if (leads()) dismiss(*own_);
}

std::vector<std::size_t> order_of_group(const Lists& lists, std::size_t group) {
  std::vector<std::size_t> order = lists[group];
  for (std::size_t next = 1; next < lists.size(); ++next) {
    const auto& other = lists[(group + next) % lists.size()];
    order.insert(order.end(), other.rbegin(), other.rend());
  }
  return order;
}

SweepSummary lead_sweep(SweepGroups& groups, const MpiJob& job, SweepPlan plan, const SweepObserver& observer) {
  Ranks& leaders = groups.leaders();
  Lists lists = lists_of(plan, static_cast<std::size_t>(leaders.size()));
  groups.begun_ = true;
  std::string start(1, kSweepStarts);
  leaders.broadcast(start, 1);
  const auto read = leaders.gather({}, kMaxSweepBytes);
  std::string mismatch;
  const std::string digest = digest_of(plan.cells);
  for (int leader = 1; leader < leaders.size() && mismatch.empty(); ++leader) {
    const auto [error, theirs] = message_of_bytes<std::pair<std::string, std::string>>(read[static_cast<std::size_t>(leader)]);
    if (!error.empty()) mismatch = leaders.name(leader) + ": " + error;
    if (error.empty() && theirs != digest)
      mismatch = leaders.name(leader) + " has different cells; all ranks need the same build, files and command line";
  }
  if (!mismatch.empty()) lists.clear();  // empty lists make every leader abort the sweep
  std::string bytes = bytes_of_message(lists);
  leaders.broadcast(bytes, kMaxSweepBytes);
  if (!mismatch.empty()) throw failure(mismatch);

  SweepSummary summary;
  try {
    summary = carry_out_list(groups, job, plan, lists, observer);
  } catch (const std::exception& error) {
    leaders.abort(error.what());
  }
  const auto ended = leaders.gather({}, kMaxSweepBytes);
  for (int leader = 1; leader < leaders.size(); ++leader)
    for (const auto& [cell, error] : message_of_bytes<Failures>(ended[static_cast<std::size_t>(leader)]))
      if (std::ranges::find(summary.failed, plan.cells.at(cell).key, [](const auto& one) { return one.first.key; }) ==
          summary.failed.end())
        summary.failed.emplace_back(plan.cells.at(cell), error);
  // Other groups may since have finished cells that they held when this group tried them.
  summary.finished_cells.clear();
  for (const Cell& cell : plan.cells)
    if (cell_state(summary.folder, plan.experiment, cell, plan.options.inputs).kind == CellState::Kind::finished)
      summary.finished_cells.push_back(cell);
  summary.finished = summary.finished_cells.size();
  std::erase_if(summary.failed, [&](const auto& one) {
    return std::ranges::find(summary.finished_cells, one.first.key, &Cell::key) != summary.finished_cells.end();
  });
  const std::size_t ended_cells = summary.finished + summary.failed.size();
  summary.held_elsewhere = summary.interrupted ? 0 : plan.cells.size() - std::min(plan.cells.size(), ended_cells);
  return summary;
}

void follow_sweep(SweepGroups& groups, const MpiJob& job, const std::function<SweepPlan()>& read) {
  Ranks& leaders = groups.leaders();
  std::string start;
  leaders.broadcast(start, 1);
  if (start.at(0) != kSweepStarts) return;
  SweepPlan plan;
  std::pair<std::string, std::string> answer;  // an error, or else the digest of the cells
  try {
    plan = read();
    answer.second = digest_of(plan.cells);
  } catch (const std::exception& error) {
    answer.first = error.what();
  }
  leaders.gather(bytes_of_message(answer), kMaxSweepBytes);
  std::string bytes;
  leaders.broadcast(bytes, kMaxSweepBytes);
  const auto lists = message_of_bytes<Lists>(bytes);
  if (lists.empty()) return;
  const StopLater until_told;
  SweepObserver observer;
  observer.stop = job.stop;
  try {
    const SweepSummary summary = carry_out_list(groups, job, plan, lists, observer);
    leaders.gather(bytes_of_message(failures_of(plan, summary)), kMaxSweepBytes);
  } catch (const std::exception& error) {
    leaders.abort(error.what());
  }
}

}  // namespace fedstride

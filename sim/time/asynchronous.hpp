#pragma once

#include "sim/time/schedule.hpp"
#include "sim/time/timed_run.hpp"

namespace fedstride {

/// The updates in a version's sum.
struct SummedUpdates {
  struct Update {
    std::uint32_t staleness = 0;
    double weight = 0;    ///< weight in the sum, without the staleness weight
    const Vector& begun;  ///< the model that its task began from
  };
  std::vector<Update> all = {};
  double weight = 0;  ///< total weight
};

/// The base of an asynchronous run. A version of its model is made like a round (server/round.hpp), from the updates that an
/// EventSchedule selects, each trained from the version that was current when its task began. Keeps in memory the models of
/// versions from which running tasks began, at most one per task; the fleet keeps the updates that it trained ahead.
class AsynchronousRun : public TimedRun {
 public:
  explicit AsynchronousRun(std::unique_ptr<EventSchedule> schedule) : schedule_(std::move(schedule)) {}

  std::vector<ClientReport> advance(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Server& server, Vector& model,
                                    std::span<const std::uint64_t> releases = {}, ForEachPiece for_each_piece = serially) final;
  std::string save() const final { return schedule_->save(); }
  void load(const std::string& bytes, Nanoseconds /*now*/) final { schedule_->load(bytes); }
  std::set<std::uint32_t> needed_versions() const final;

 private:
  /// Task::scale of an update with this staleness.
  virtual double scale(std::uint32_t /*staleness*/) const { return 1; }
  /// The change that a version makes to the model, given the mean of its updates.
  virtual Vector change(Vector mean, const SummedUpdates& updates, const Vector& model) = 0;

  std::unique_ptr<EventSchedule> schedule_;
};

}  // namespace fedstride

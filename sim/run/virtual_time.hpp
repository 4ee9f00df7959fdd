#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "sim/prepare/setup.hpp"
#include "sim/time/timed_run.hpp"

namespace fedstride {

/// Everything that determines when this run's tasks end. The setup must outlive the result.
TimeTerms make_time_terms(const Setup& setup);
/// Throws Error (usage) if no client can meet the deadline, or if there are fewer clients than the mode needs.
void check_time(const Setup& setup);

/// A run in virtual time, its totals and files. The models from which running tasks began are files in the run's folder,
/// `versions/N`, each written once.
class VirtualTime {
 public:
  /// The setup must outlive this object. `identity` is run_identity.
  VirtualTime(const Setup& setup, const std::filesystem::path& folder, std::string identity);

  TimedRun& run() { return *run_; }
  /// Adds the time of a finished round or version to the totals, and returns that time.
  const RoundTime& commit(std::uint32_t round);
  const TimeTotals& totals() const { return totals_; }

  /// Convert the state in the checkpoint to bytes and back. load throws Error (failure) if the state or a version's file is
  /// damaged or from another run; empty bytes are the state of a run that has not begun.
  std::string save() const;
  void load(const std::string& bytes, std::uint32_t round);
  /// write_versions writes the models that a checkpoint needs, before it is written; drop_versions removes the others afterwards.
  void write_versions();
  void drop_versions();

  /// write_timeline writes at most kMaxEvents of the run's tasks in Chrome's trace format, from all rounds run with a timeline.
  static constexpr std::size_t kMaxEvents = 1'000'000;
  void write_timeline(const std::filesystem::path& file) const;

 private:
  std::filesystem::path version_file(std::uint32_t version) const;
  void keep_events(std::uint32_t round, const RoundTime& time);
  void cut_events(std::uint32_t round);

  const Setup& setup_;
  std::filesystem::path folder_;
  std::string identity_;
  TimeTerms terms_;
  SpeedTenths tenths_;
  std::unique_ptr<TimedRun> run_;
  TimeTotals totals_ = {};
  std::set<std::uint32_t> written_ = {};
  bool keeps_events_;
  std::filesystem::path events_;  ///< a file of records, which keeps a resumed run's timeline complete
  std::size_t event_count_ = 0;
};

}  // namespace fedstride

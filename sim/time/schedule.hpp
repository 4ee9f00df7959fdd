#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/time/round_time.hpp"
#include "sim/time/work.hpp"

namespace fedstride {

/// A task of an asynchronous run.
struct Flight {
  Nanoseconds end = 0;
  TaskFate fate = TaskFate::arrived;
  ClientId client = 0;
  std::uint64_t sequence = 0;  ///< number of tasks that began before it
  std::uint32_t count = 1;     ///< number of this client's tasks, including this one; passed as Task::round
  std::uint32_t version = 0;   ///< version from which it began
  Nanoseconds start = 0;

  /// The order of events: by time, arrivals before losses, then by client and sequence. At any instant, ends come before starts.
  auto order() const { return std::tie(end, fate, client, sequence); }
  bool operator<(const Flight& other) const { return order() < other.order(); }
  void serialize(auto& archive) { archive(end, fate, client, sequence, count, version, start); }
};

/// The events of an asynchronous run: when tasks begin and end, and which tasks make each version. They depend only on TimeTerms
/// and are computed on demand. Memory holds only the tasks at work, a counter for each client that has worked, and a
/// few bytes per client.
class EventSchedule {
 public:
  virtual ~EventSchedule() = default;
  EventSchedule& operator=(EventSchedule&&) = delete;

  /// A version: its time, and the tasks in it.
  struct Version {
    RoundTime time = {};
    std::vector<Flight> tasks = {};  ///< arrived tasks, in order
  };
  /// The next version. Throws Error (failure) if no client will ever be available.
  virtual Version next() = 0;

  std::uint32_t version() const { return version_; }            ///< versions made so far
  const std::set<Flight>& flights() const { return flights_; }  ///< tasks at work, in order of their ends

  /// Convert the state to bytes and back. load throws Error (failure) if the bytes are not such a schedule's state.
  virtual std::string save() const = 0;
  virtual void load(const std::string& bytes) = 0;

 protected:
  std::uint32_t version_ = 0;
  std::set<Flight> flights_ = {};
};

/// The settings of a BufferSchedule.
struct BufferRules {
  std::size_t concurrency = 0;      ///< clients at work at once
  std::size_t buffer = 1;           ///< updates in a version
  std::uint32_t staleness_cap = 0;  ///< 0: none
  bool waits = false;               ///< true: wait for an update that would exceed the cap; false: drop it
};

/// `concurrency` clients are at work at once. When a task ends, another client begins, drawn uniformly from the available clients
/// that are idle and not in the buffer: a client is in a buffer at most once. Under TimeTerms::separation b, a client may begin
/// for version v only if its last update is in version v - b or earlier or, if the task failed, began for version v - b or
/// earlier. An update is never in a version before the version it began for, so any two of a client's updates are in versions at
/// least b apart.
class BufferSchedule final : public EventSchedule {
 public:
  /// The terms must outlive the schedule. Throws Error (usage) if there are fewer clients than `concurrency`.
  BufferSchedule(const TimeTerms& terms, const BufferRules& rules);

  Version next() override;
  std::string save() const override;
  void load(const std::string& bytes) override;

 private:
  bool rests(ClientId client) const;
  bool may_start(ClientId client) const;
  bool start_one();
  bool must_wait() const;
  Nanoseconds earliest_start() const;
  void exchange(auto& archive) {
    archive(now_, version_, begun_, free_, flights_, counts_);
    if (terms_.separation > 1) archive(rested_);
  }

  const TimeTerms& terms_;
  BufferRules rules_;
  Nanoseconds now_ = 0;
  std::uint64_t begun_ = 0;  ///< tasks begun so far
  std::uint64_t free_ = 0;   ///< how many more clients may be at work
  std::map<ClientId, std::uint32_t> counts_ = {};
  std::map<ClientId, std::uint64_t> rested_ = {};  ///< the first version that a client may begin for again, under a separation
  std::vector<bool> taken_ = {};                   ///< by client: at work or in the buffer
  std::size_t taken_count_ = 0;
  Nanoseconds none_before_ = 0;  ///< no idle client is available before this instant; recomputed after a load
};

}  // namespace fedstride

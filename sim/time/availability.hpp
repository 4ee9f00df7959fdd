#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/choice.hpp"
#include "core/part.hpp"
#include "core/setting.hpp"
#include "core/task.hpp"
#include "sim/time/clock.hpp"

namespace fedstride {

/// How a client's absence affects its task.
enum class WhenAway : std::uint8_t {
  lost,      ///< the task is lost, and the server learns this at once
  deadline,  ///< the task is lost, and the server learns this at the deadline
  resume     ///< the task continues when the client is back
};
constexpr auto choice_names(WhenAway) { return names("lost", "deadline", "resume"); }

/// A client's state at an instant.
struct Presence {
  bool is_there = true;
  Nanoseconds until = kNever;  ///< the next instant, after the requested one, at which is_there may change
};

/// A kind of availability: when each client is available. Queries change nothing.
class AvailabilityPart : public Part {
 public:
  static PartFamily& family();  ///< sim/time/availability.cpp has the list

  /// True if every client is always available.
  virtual bool is_always() const { return false; }
  /// The client's presence at an instant, which depends only on the arguments.
  virtual Presence at(ClientId client, Nanoseconds time, std::uint64_t seed) const = 0;
  virtual WhenAway when_away() const { return WhenAway::lost; }
  /// The hash of the file that the part reads; empty if none. Throws Error if the file does not fit the number of clients.
  virtual std::string file_hash(std::size_t /*clients*/) const { return {}; }
  virtual std::string* reads() { return nullptr; }
};
using Availability = Chosen<AvailabilityPart>;

struct AlwaysThere final : PartBase<AvailabilityPart, AlwaysThere> {
  static constexpr std::string_view kName = "always";
  static constexpr std::string_view kSummary = "every client at all times";
  bool is_always() const override { return true; }
  Presence at(ClientId /*client*/, Nanoseconds /*time*/, std::uint64_t /*seed*/) const override { return {}; }
};

struct AwaySettings {
  WhenAway when_away_ = WhenAway::lost;
  static constexpr auto kFields = fields(
      Field{"when-away", &AwaySettings::when_away_,
            "what happens to the task of a client that leaves: lost, which the server learns at once; lost, which it learns at "
            "the deadline; or resumed when the client is back"});
};

/// The base of availabilities in which clients go away.
template <class Self, class Settings>
struct SometimesThere : PartBase<AvailabilityPart, Self, Settings> {
  using PartBase<AvailabilityPart, Self, Settings>::PartBase;
  WhenAway when_away() const final { return this->when_away_; }
};

struct DayNightSettings : AwaySettings {
  double day_seconds = 86400;
  double day_share = 0.5;
  static constexpr auto kFields =
      fields(AwaySettings::kFields,
             Field{"day-seconds", &DayNightSettings::day_seconds, "length of a day", Valid{.low = 1e-3, .high = 1e8}},
             Field{"day-share", &DayNightSettings::day_share, "share of each day that a client is available",
                   Valid{.low = 0, .high = 1, .low_included = false, .high_included = false}});
};
/// Each client is available for the same share of every day, starting at a time of day drawn uniformly for the client.
struct DayNight final : SometimesThere<DayNight, DayNightSettings> {
  static constexpr std::string_view kName = "day-night";
  static constexpr std::string_view kSummary = "a share of each day, starting at a random time for each client";
  Presence at(ClientId client, Nanoseconds time, std::uint64_t seed) const override;
};

struct MarkovSettings : AwaySettings {
  double there_seconds = 3600;
  double away_seconds = 3600;
  static constexpr auto kFields = fields(
      AwaySettings::kFields,
      Field{"there-seconds", &MarkovSettings::there_seconds, "mean time that a client is available",
            Valid{.low = 1e-3, .high = 1e8}},
      Field{"away-seconds", &MarkovSettings::away_seconds, "mean time that a client is away", Valid{.low = 1e-3, .high = 1e8}});
};
/// A stationary two-state Markov process: the times that a client is available and away are exponential. The cost of a query
/// grows with the number of changes since time 0.
struct MarkovPresence final : SometimesThere<MarkovPresence, MarkovSettings> {
  using SometimesThere::SometimesThere;
  static constexpr std::string_view kName = "markov";
  static constexpr std::string_view kSummary = "exponential times available and away";
  Presence at(ClientId client, Nanoseconds time, std::uint64_t seed) const override;
};

struct PresenceTableSettings : AwaySettings {
  std::string availability_table;
  double availability_period = 0;
  static constexpr auto kFields = fields(AwaySettings::kFields,
                                         Field{"availability-table", &PresenceTableSettings::availability_table,
                                               "CSV file with the header client,from_seconds,to_seconds, or .npz file with these "
                                               "arrays: when clients are available",
                                               kFile},
                                         Field{"availability-period", &PresenceTableSettings::availability_period,
                                               "seconds after which the table repeats; 0: never", Valid{.low = 0, .high = 1e8}});
};
/// Clients are available in the intervals of a file. A client without an interval is never available.
struct PresenceTable final : SometimesThere<PresenceTable, PresenceTableSettings> {
  using SometimesThere::SometimesThere;
  static constexpr std::string_view kName = "table";
  static constexpr std::string_view kSummary = "intervals from a file";
  Presence at(ClientId client, Nanoseconds time, std::uint64_t seed) const override;
  std::string file_hash(std::size_t clients) const override;
  std::string* reads() override { return &availability_table; }
};

/// When and how a task ends.
struct TaskEnd {
  Nanoseconds time = 0;  ///< when its update arrives, or when it is known to be lost
  bool is_lost = false;
  bool is_late = false;  ///< lost because it would have ended after the deadline, not because its client went away
};

/// The end of a task that starts at `start`, when its client is available, and takes `length`. `deadline` is an instant, or
/// kNever if there is none. A task that is not done by the deadline is lost.
TaskEnd end_of_task(const AvailabilityPart& availability, ClientId client, Nanoseconds start, Nanoseconds length,
                    Nanoseconds deadline, std::uint64_t seed);

}  // namespace fedstride

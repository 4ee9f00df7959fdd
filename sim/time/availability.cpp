#include "sim/time/availability.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "sim/time/number_table.hpp"

namespace fedstride {

Presence DayNight::at(ClientId client, Nanoseconds time, std::uint64_t seed) const {
  RandomStream random(seed, {.purpose = Purpose::availability, .client = client});
  const Nanoseconds day = nanoseconds(day_seconds, "day-seconds");
  const auto light = std::clamp<Nanoseconds>(std::llround(static_cast<double>(day) * day_share), 1, day - 1);
  const auto shift = static_cast<Nanoseconds>(random.below(static_cast<std::uint64_t>(day)));
  const Nanoseconds hour = (time % day + shift) % day;
  return hour < light ? Presence{true, later(time, light - hour)} : Presence{false, later(time, day - hour)};
}

Presence MarkovPresence::at(ClientId client, Nanoseconds time, std::uint64_t seed) const {
  RandomStream random(seed, {.purpose = Purpose::availability, .client = client});
  bool is_there = random.uniform() < there_seconds / (there_seconds + away_seconds);
  // Exponential times are memoryless, so the first is drawn like the others.
  for (Nanoseconds now = 0;; is_there = !is_there) {
    const double mean = is_there ? there_seconds : away_seconds;
    now = later(now, std::max<Nanoseconds>(1, std::llround(-portable::log(1 - random.uniform()) * mean * 1e9)));
    if (now > time) return {is_there, now};
  }
}

namespace {

struct PresenceIntervals {
  using Interval = std::pair<Nanoseconds, Nanoseconds>;
  std::vector<std::vector<Interval>> of_client = {};  // in order, disjoint
  std::string hash = {};
};

PresenceIntervals read_presence(const std::string& path, double period) {
  if (path.empty()) throw usage_error("availability is 'table', which needs a file; set --availability-table");
  const NumberTable read = read_number_table("availability-table", path, {"client", "from_seconds", "to_seconds"});
  const auto wrong = [&](const std::string& what) { return usage_error("availability-table '" + path + "' " + what); };
  if (read.columns != std::vector<std::string>{"client", "from_seconds", "to_seconds"})
    throw wrong("must have the header client,from_seconds,to_seconds");
  PresenceIntervals table;
  Hash hash;
  for (const auto& line : read.lines) {
    for (const double value : line) hash.value(value);
    const std::string text = number_text(line[0]) + "," + number_text(line[1]) + "," + number_text(line[2]);
    if (line[0] != std::floor(line[0]) || line[0] > 1e7)
      throw wrong("has '" + text + "'; clients are whole numbers from 0 to 1e7");
    if (!(line[1] < line[2]) || (period > 0 && line[2] > period))
      throw wrong("has '" + text + "'; an interval must end after it begins" +
                  (period > 0 ? " and by availability-period, " + number_text(period) : std::string()));
    const auto client = static_cast<std::size_t>(line[0]);
    if (client >= table.of_client.size()) table.of_client.resize(client + 1);
    table.of_client[client].emplace_back(nanoseconds(line[1], "availability-table"), nanoseconds(line[2], "availability-table"));
  }
  for (std::size_t client = 0; client < table.of_client.size(); ++client) {
    auto& intervals = table.of_client[client];
    std::ranges::sort(intervals);
    for (std::size_t i = 1; i < intervals.size(); ++i)
      if (intervals[i].first < intervals[i - 1].second)
        throw wrong("has intervals of client " + std::to_string(client) + " that overlap at " +
                    number_text(seconds_of(intervals[i].first)) + " seconds");
  }
  table.hash = hash.hex();
  return table;
}

// Returns a file's intervals; reads each file only once.
std::shared_ptr<const PresenceIntervals> presence_of(const std::string& path, double period) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, double>, std::shared_ptr<const PresenceIntervals>> known_tables;
  const std::lock_guard lock(mutex);
  auto& table = known_tables[{path, period}];
  if (table == nullptr) table = std::make_shared<const PresenceIntervals>(read_presence(path, period));
  return table;
}

}  // namespace

Presence PresenceTable::at(ClientId client, Nanoseconds time, std::uint64_t /*seed*/) const {
  const auto table = presence_of(availability_table, availability_period);
  if (client >= table->of_client.size() || table->of_client[client].empty()) return {false, kNever};
  const auto& intervals = table->of_client[client];
  const Nanoseconds period = nanoseconds(availability_period, "availability-period");
  const Nanoseconds hour = period > 0 ? time % period : time;
  // The first interval that has not ended.
  const auto next = std::ranges::upper_bound(intervals, hour, {}, &PresenceIntervals::Interval::second);
  if (next == intervals.end()) return {false, period > 0 ? later(time, period - hour + intervals.front().first) : kNever};
  return hour < next->first ? Presence{false, later(time, next->first - hour)} : Presence{true, later(time, next->second - hour)};
}

std::string PresenceTable::file_hash(std::size_t clients) const {
  const auto table = presence_of(availability_table, availability_period);
  if (table->of_client.size() > clients)
    throw usage_error("availability-table '" + availability_table + "' has client " +
                      std::to_string(table->of_client.size() - 1) + "; clients are numbered 0 to " + std::to_string(clients - 1));
  return table->hash;
}

TaskEnd end_of_task(const AvailabilityPart& availability, ClientId client, Nanoseconds start, Nanoseconds length,
                    Nanoseconds deadline, std::uint64_t seed) {
  Nanoseconds end = later(start, length);
  if (!availability.is_always()) {
    const WhenAway rule = availability.when_away();
    Nanoseconds left = length;
    for (Nanoseconds now = start;;) {
      const Presence presence = availability.at(client, now, seed);
      if (presence.is_there && (presence.until == kNever || presence.until - now >= left)) {
        end = later(now, left);
        break;
      }
      if (presence.is_there) left -= presence.until - now;
      // The client is away forever, or its absence loses the task.
      const bool is_leaving = !presence.is_there || !availability.at(client, presence.until, seed).is_there;
      const Nanoseconds left_at = presence.is_there ? presence.until : now;
      if (is_leaving && (rule != WhenAway::resume || (!presence.is_there && presence.until == kNever))) {
        const bool is_known = rule == WhenAway::lost || deadline == kNever;
        return {is_known ? std::min(left_at, deadline) : deadline, true};
      }
      now = presence.until;
      if (now >= deadline) return {deadline, true, true};
    }
  }
  return end <= deadline ? TaskEnd{end} : TaskEnd{deadline, true, true};
}

PartFamily& AvailabilityPart::family() {
  static PartFamily family = [] {
    PartFamily all("availability", "when clients are available, in virtual time", Question::federation);
    add_parts<AvailabilityPart, AlwaysThere, DayNight, MarkovPresence, PresenceTable>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride

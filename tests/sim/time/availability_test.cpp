// Availability: every kind's share of time, and what becomes of tasks whose clients go away.
#include <doctest/doctest.h>

#include <cmath>

#include "core/files.hpp"
#include "server/cohorts.hpp"
#include "sim/time/modes/sync.hpp"
#include "sim/time/schedule.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::availability_test {
namespace {

// The share of time that a client is there: by hand from the settings below.
const KnownAnswers<double> kKnown = {{"always", 1}, {"day-night", 0.25}, {"markov", 0.2}, {"table", 0.3}};

/// A client there from 10 to 20 and from 40 to 50 seconds.
PresenceTable two_stays(const TemporaryFolder& folder, WhenAway rule) {
  write_file(folder / "stays.csv", "client,from_seconds,to_seconds\n0,10,20\n0,40,50\n");
  PresenceTableSettings settings;
  settings.availability_table = folder / "stays.csv";
  settings.when_away_ = rule;
  return settings;
}

}  // namespace

TEST_CASE("every kind of availability is there as often as it says, at instants that do not depend on what was asked before") {
  const TemporaryFolder folder;
  write_file(folder / "table.csv", "client,from_seconds,to_seconds\n0,1,2\n0,4,4.5\n0,2,3.5\n");  // 3 of 10 seconds
  for_each_known<Availability>(kKnown, [&](Availability& availability, double expected) {
    set_if_there(availability, "day-seconds", 10.0);
    set_if_there(availability, "day-share", 0.25);
    set_if_there(availability, "there-seconds", 2.0);
    set_if_there(availability, "away-seconds", 8.0);
    set_if_there(availability, "availability-table", folder / "table.csv");
    set_if_there(availability, "availability-period", 10.0);
    Nanoseconds there = 0;
    const Nanoseconds end = 20'000 * kSecond;
    for (Nanoseconds now = 0; now < end;) {
      const Presence presence = availability->at(0, now, 3);
      REQUIRE(presence.until > now);
      const Nanoseconds until = std::min(end, presence.until);
      if (presence.is_there) there += until - now;
      if (until < end) CHECK(availability->at(0, until - 1, 3).is_there == presence.is_there);
      now = until;
    }
    CHECK(std::abs(static_cast<double>(there) / static_cast<double>(end) - expected) < 0.02);
  });
}

TEST_CASE("a task whose client goes away is lost at once, lost at the deadline, or goes on when it is back") {
  const TemporaryFolder folder;
  const auto end_of = [&](WhenAway rule, Nanoseconds start, Nanoseconds length, Nanoseconds deadline) {
    const PresenceTable table = two_stays(folder, rule);
    const TaskEnd end =
        end_of_task(table, 0, start * kSecond, length * kSecond, deadline == kNever ? kNever : deadline * kSecond, 1);
    return std::tuple(seconds_of(end.time), end.is_lost, end.is_late);
  };
  CHECK(end_of(WhenAway::lost, 12, 8, kNever) == std::tuple(20.0, false, false));
  CHECK(end_of(WhenAway::lost, 12, 9, kNever) == std::tuple(20.0, true, false));
  CHECK(end_of(WhenAway::lost, 12, 9, 16) == std::tuple(16.0, true, false));
  CHECK(end_of(WhenAway::deadline, 12, 9, 30) == std::tuple(30.0, true, false));
  CHECK(end_of(WhenAway::resume, 12, 9, kNever) == std::tuple(41.0, false, false));
  CHECK(end_of(WhenAway::resume, 12, 9, 30) == std::tuple(30.0, true, true));
  CHECK(end_of(WhenAway::resume, 12, 30, kNever) == std::tuple(50.0, true, false));  // it is never back
  CHECK(end_of(WhenAway::lost, 12, 6, 17) == std::tuple(17.0, true, true));
}

TEST_CASE("a cohort is of those that are there, a run waits until somebody is, and ends if nobody ever will be") {
  const TemporaryFolder folder;
  write_file(folder / "stays.csv", "client,from_seconds,to_seconds\n1,10,20\n3,10,20\n3,20,21\n");
  PresenceTableSettings settings;
  settings.availability_table = folder / "stays.csv";
  TimeTerms terms{.devices = EqualDevices({.example_seconds = 1}),
                  .availability = PresenceTable(settings),
                  .clients = 5,
                  .examples = [](ClientId, std::uint32_t) { return 6.0; }};
  SynchronousRun run(terms);
  const std::vector<std::uint64_t> rows(5, 1);
  const RandomSource source(std::uint64_t{1});
  CHECK(run.arriving(FixedCohort({4}), {1, rows, source}) == std::vector<ClientId>{1, 3});
  CHECK(seconds_of(run.last().start) == 10);
  CHECK(seconds_of(run.last().end) == 16);
  CHECK(run.arriving(AllClients{}, {2, rows, source}).empty());
  CHECK(run.last().count(TaskFate::lost) == 2);
  run.load("", 25 * kSecond);
  CHECK_FAILURE(run.arriving(AllClients{}, {3, rows, source}), "25", "--availability");

  BufferSchedule schedule(terms, {5, 1});
  CHECK(schedule.next().tasks.front().client == 1);
  CHECK(schedule.next().tasks.front().client == 3);
  CHECK_FAILURE(schedule.next(), "--availability");
}

TEST_CASE("a table of availability whose intervals overlap or end before they begin is refused") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& text, double period = 0) {
    static int number = 0;
    PresenceTableSettings settings;
    settings.availability_table = folder / std::to_string(++number);
    settings.availability_period = period;
    write_file(settings.availability_table, "client,from_seconds,to_seconds\n" + text);
    return error_of_kind(Error::Kind::usage, [&] { PresenceTable(settings).file_hash(2); });
  };
  CHECK(names(said("0,1,5\n0,4,6\n"), {"client 0", "4"}));
  CHECK(names(said("0,5,5\n"), {"0,5,5"}));
  CHECK(names(said("0,5,11\n", 10), {"0,5,11", "availability-period", "10"}));
  CHECK(names(said("2,1,5\n"), {"client 2", "0 to 1"}));
  CHECK(names(said("0,-1,5\n"), {"line 2", "'-1'"}));
  CHECK(said("0,1,5\n1,2,3\n0,5,6\n").empty());
}

}  // namespace fedstride::test::availability_test

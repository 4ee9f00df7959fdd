// The events of asynchronous runs: closed forms of staleness, caps, and that a schedule that is saved and loaded goes on alike.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/files.hpp"
#include "sim/time/schedule.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::schedule_test {
namespace {

TimeTerms terms_of(Devices devices, std::size_t clients) {
  return {.devices = std::move(devices), .seed = 11, .clients = clients, .examples = [](ClientId, std::uint32_t) { return 1.0; }};
}

// The mean staleness over so many updates, the first versions left out.
double mean_staleness(const TimeTerms& terms, const BufferRules& rules, std::uint64_t updates) {
  BufferSchedule schedule(terms, rules);
  for (int i = 0; i < 100; ++i) schedule.next();
  double sum = 0;
  std::uint64_t count = 0;
  while (count < updates) {
    for (const TimedTask& task : schedule.next().time.tasks) sum += task.staleness, ++count;
  }
  return sum / static_cast<double>(count);
}

}  // namespace

TEST_CASE("with c clients always at work and buffers of K the mean staleness is (c - 1) / K, whatever the law of durations") {
  const ExponentialDevices exponential({.example_seconds = 1});
  const HalfNormalDevices half_normal({.example_seconds = 1});
  CHECK(mean_staleness(terms_of(exponential, 100'000), {100, 10}, 60'000) == doctest::Approx(9.9).epsilon(0.005));
  CHECK(mean_staleness(terms_of(half_normal, 100'000), {100, 10}, 60'000) == doctest::Approx(9.9).epsilon(0.005));
  CHECK(mean_staleness(terms_of(exponential, 100'000), {20, 5}, 60'000) == doctest::Approx(3.8).epsilon(0.005));
  CHECK(mean_staleness(terms_of(half_normal, 100'000), {20, 5}, 60'000) == doctest::Approx(3.8).epsilon(0.005));
}

TEST_CASE("a client has one task at a time, is in a buffer once, and counts its tasks from 1") {
  const TimeTerms terms = terms_of(ExponentialDevices({.example_seconds = 1, .device_jitter = 1}), 8);
  BufferSchedule schedule(terms, {6, 4});
  std::map<ClientId, std::uint32_t> counts;
  std::map<ClientId, Nanoseconds> ends;
  Nanoseconds before = 0;
  for (int version = 1; version <= 2000; ++version) {
    const BufferSchedule::Version made = schedule.next();
    REQUIRE(made.tasks.size() == 4);
    std::set<ClientId> once;
    for (const Flight& task : made.tasks) {
      CHECK(once.insert(task.client).second);
      CHECK(task.count == ++counts[task.client]);
      CHECK(task.start >= ends[task.client]);
      CHECK(task.end >= before);
      before = ends[task.client] = task.end;
      CHECK(task.version < schedule.version());
    }
    CHECK(made.time.end == before);
    CHECK(schedule.flights().size() <= 6);
  }
}

TEST_CASE("arrivals of one instant come before starts: equal devices and full buffers are rounds") {
  const TimeTerms terms = terms_of(EqualDevices({.example_seconds = 2}), 7);
  BufferSchedule schedule(terms, {7, 7});
  for (std::uint32_t version = 1; version <= 5; ++version) {
    const BufferSchedule::Version made = schedule.next();
    CHECK(seconds_of(made.time.end) == 2 * version);
    CHECK(made.time.largest_staleness() == 0);
    for (ClientId client = 0; client < 7; ++client) {
      CHECK(made.tasks[client].client == client);
      CHECK(made.tasks[client].count == version);
    }
  }
}

TEST_CASE("a cap on staleness drops what is beyond it, or has the server wait, and counts") {
  const LognormalDevices devices({{.example_seconds = 1}, 1.5});
  std::uint64_t dropped = 0;
  std::uint32_t largest = 0;
  std::size_t most = 0;
  const TimeTerms terms = terms_of(devices, 500);
  for (const bool waits : {false, true}) {
    BufferSchedule schedule(terms, {30, 3, 4, waits});
    for (int version = 0; version < 500; ++version) {
      const BufferSchedule::Version made = schedule.next();
      if (!waits) dropped += made.time.count(TaskFate::dropped);
      if (waits) CHECK(made.time.count(TaskFate::dropped) == 0);
      largest = std::max(largest, made.time.largest_staleness());
      most = std::max(most, made.tasks.size());
      CHECK(made.tasks.size() >= 3);
    }
  }
  CHECK(dropped > 100);
  CHECK(largest == 4);
  CHECK(most > 3);
}

TEST_CASE("a schedule that is saved and loaded goes on as if it had not been") {
  const TimeTerms terms = terms_of(ExponentialDevices({.example_seconds = 1, .device_jitter = 0.5}), 40);
  for (const BufferRules& rules : {BufferRules{20, 5}, BufferRules{10, 1}}) {
    BufferSchedule whole(terms, rules);
    for (int version = 0; version < 37; ++version) whole.next();
    BufferSchedule loaded(terms, rules);
    loaded.load(whole.save());
    CHECK(loaded.save() == whole.save());
    for (int version = 0; version < 200; ++version) {
      const auto a = whole.next();
      const auto b = loaded.next();
      REQUIRE(a.tasks.size() == b.tasks.size());
      for (std::size_t i = 0; i < a.tasks.size(); ++i) CHECK(a.tasks[i].order() == b.tasks[i].order());
    }
    CHECK(loaded.save() == whole.save());
    CHECK_FAILURE(loaded.load(whole.save().substr(3)), "schedule");
  }
}

TEST_CASE(
    "under a minimum separation any two updates of a client are that many versions apart, and a lost one keeps it away as long") {
  const Devices kinds[] = {EqualDevices({.example_seconds = 1}), ExponentialDevices({.example_seconds = 1, .device_jitter = 1}),
                           LognormalDevices({{.example_seconds = 1}, 1.5})};
  std::size_t lost = 0, at_once = 0, idle = 0;
  for (const Devices& devices : kinds)
    for (const std::uint64_t seed : {1, 2, 3})
      for (const std::uint64_t separation : {2, 5})
        for (const bool hard : {false, true}) {  // with a deadline and a cap
          const BufferRules rules{12, 3, hard ? 3U : 0U, seed == 2};
          TimeTerms terms = terms_of(devices, hard ? 300 : 40);
          terms.seed = seed;
          terms.separation = separation;
          if (hard) terms.deadline = nanoseconds(4, "deadline"), terms.availability = MarkovPresence({{}, 30, 5});
          BufferSchedule schedule(terms, rules);
          std::map<ClientId, std::uint64_t> landed, may;  // the last version, the first that it may begin for
          for (std::uint64_t version = 1; version <= 120; ++version) {
            const BufferSchedule::Version made = schedule.next();
            idle += schedule.flights().size() < 9 ? 1U : 0U;
            for (const TimedTask& task : made.time.tasks) {
              const std::uint64_t began_for = version - task.staleness;
              CHECK(began_for >= may[task.client]);
              if (task.fate != TaskFate::arrived) {
                may[task.client] = began_for + separation;
                ++lost;
                continue;
              }
              if (landed[task.client] > 0) CHECK(version - landed[task.client] >= separation);
              if (version - landed[task.client] == separation) ++at_once;
              landed[task.client] = version;
              may[task.client] = version + separation;
            }
            if (version == 60) {
              BufferSchedule loaded(terms, rules);
              loaded.load(schedule.save());
              BufferSchedule whole(terms, rules);
              for (int i = 0; i < 60; ++i) whole.next();
              for (int i = 0; i < 30; ++i) {
                const auto a = whole.next(), b = loaded.next();
                REQUIRE(a.tasks.size() == b.tasks.size());
                for (std::size_t j = 0; j < a.tasks.size(); ++j) CHECK(a.tasks[j].order() == b.tasks[j].order());
              }
              CHECK(loaded.save() == whole.save());
            }
          }
        }
  CHECK(lost > 100);
  CHECK(at_once > 200);
  CHECK(idle > 0);
}

TEST_CASE("a minimum separation by hand: three clients, all at work at first, a version an update, two versions apart") {
  const TemporaryFolder folder;
  write_file(folder / "devices.csv", "client,seconds_per_example\n0,2\n1,3\n2,7\n");
  TimeTerms terms = terms_of(TableDevices({.device_table = folder / "devices.csv"}), 3);
  terms.separation = 2;
  // Whoever was in the last version waits for the next:
  //   2 s: 0, version 1     3 s: 1, version 2; 0 begins     5 s: 0, version 3; 1 begins
  //   7 s: 2, begun at 0 s, version 4; 0 begins             8 s: 1, version 5; 2 begins     9 s: 0, version 6; 1 begins
  //   12 s: 1, version 7; 0 begins                          14 s: 0, version 8
  struct Landing {
    int seconds;
    ClientId client;
    std::uint32_t staleness;
  };
  const std::vector<Landing> landings{{2, 0, 0}, {3, 1, 1}, {5, 0, 0}, {7, 2, 3}, {8, 1, 1}, {9, 0, 1}, {12, 1, 0}, {14, 0, 0}};
  BufferSchedule schedule(terms, {3, 1});
  for (const Landing& expected : landings) {
    const BufferSchedule::Version made = schedule.next();
    CAPTURE(schedule.version());
    REQUIRE(made.tasks.size() == 1);
    CHECK(seconds_of(made.time.end) == expected.seconds);
    CHECK(made.tasks[0].client == expected.client);
    CHECK(schedule.version() - 1 - made.tasks[0].version == expected.staleness);
  }
  // With a deadline of 5 s client 2 fails, at 5 s for version 1, after which it may begin again for version 4 (three apart); at 3 s
  // everybody else waits for it, but in vain.
  terms.deadline = nanoseconds(5, "deadline");
  terms.separation = 3;
  BufferSchedule stuck(terms, {3, 1});
  stuck.next(), stuck.next();
  CHECK_USAGE_ERROR(stuck.next(), "minimum-separation", "3", "version 3", "has 0 updates of 1", "3 clients");
}

TEST_CASE("more clients at work than there are is refused") {
  const TimeTerms terms = terms_of(EqualDevices({.example_seconds = 1}), 4);
  CHECK_USAGE_ERROR(BufferSchedule(terms, {5, 1}), "concurrency", "5", "4");
}

TEST_CASE("a hundred thousand clients, a thousand of them at work") {
  const TimeTerms terms = terms_of(LognormalDevices({{.example_seconds = 1}, 0.6}), 100'000);
  BufferSchedule schedule(terms, {1000, 10});
  for (int version = 0; version < 1000; ++version) CHECK(schedule.next().tasks.size() == 10);
  CHECK(schedule.flights().size() >= 990);
}

}  // namespace fedstride::test::schedule_test

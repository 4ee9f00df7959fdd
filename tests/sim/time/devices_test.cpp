// Devices: every kind's law, closed forms of waiting times, tables, and that asking changes nothing.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/files.hpp"
#include "server/cohorts.hpp"
#include "sim/time/availability.hpp"
#include "sim/time/devices.hpp"
#include "sim/time/modes/sync.hpp"
#include "sim/time/work.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::devices_test {
namespace {

// The mean seconds of an example over many clients, whose median device takes 2: by hand from each law. tier-factors are 1, 3, 10;
// the table has 1, 2 and 6 milliseconds, forward only, of which each client draws one.
const KnownAnswers<double> kKnown = {{"none", 0},
                                     {"equal", 2},
                                     {"uniform", 2},
                                     {"exponential", 2},
                                     {"lognormal", 2 * 1.1972174},  // exp(0.6^2 / 2)
                                     {"half-normal", 2 * 0.7978846},
                                     {"tiers", 2 * 14.0 / 3},
                                     {"table", 0.009}};

struct Sample {
  double mean = 0;
  double error = 0;  // its standard error
};
Sample sample_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Sample sample{std::accumulate(values.begin(), values.end(), 0.0) / count, 0};
  for (const double value : values) sample.error += (value - sample.mean) * (value - sample.mean);
  sample.error = std::sqrt(sample.error / count / (count - 1));
  return sample;
}

// The mean over seeds of the time of the first round, in seconds, within its 99 % interval.
void check_round(Devices devices, std::size_t asked, std::size_t goal, double expected) {
  std::vector<double> times;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const TimeTerms terms{
        .devices = devices, .seed = seed, .clients = asked, .cohort_goal = goal, .examples = [](ClientId, std::uint32_t) {
          return 1.0;
        }};
    SynchronousRun run(terms);
    const std::vector<std::uint64_t> rows(asked, 1);
    const RandomSource source(seed);
    CHECK(run.arriving(AllClients{}, {1, rows, source}).size() == goal);
    times.push_back(seconds_of(run.last().end));
    CHECK(run.last().count(TaskFate::late) == asked - goal);
  }
  const Sample sample = sample_of(times);
  INFO(sample.mean, " +- ", sample.error);
  CHECK(std::abs(sample.mean - expected) < 2.576 * sample.error);
}

}  // namespace

TEST_CASE("every kind of devices has the mean that its law has, and gives the same device each time it is asked") {
  const TemporaryFolder folder;
  write_file(folder / "table.csv", "inference_milliseconds_per_example\n1\n2\n6\n");
  for_each_known<Devices>(kKnown, [&](Devices& devices, double expected) {
    set_if_there(devices, "example-seconds", 2.0);
    set_if_there(devices, "device-table", folder / "table.csv");
    std::vector<double> seconds;
    for (ClientId client = 0; client < 20'000; ++client) seconds.push_back(devices->device({client, 7}).example_seconds);
    const Sample sample = sample_of(seconds);
    CHECK(std::abs(sample.mean - expected) <= 3.5 * sample.error + 1e-12);
    for (const ClientId client : {0U, 19'999U, 5U}) CHECK(devices->device({client, 7}).example_seconds == seconds[client]);
    int changed = 0;
    for (ClientId client = 0; client < 20; ++client) changed += devices->device({client, 8}).example_seconds != seconds[client];
    CHECK((changed > 5) == (sample.error > 0));
  });
}

TEST_CASE("a round that waits for the k-th of n exponential devices takes H(n) - H(n - k)") {
  check_round(ExponentialDevices({.example_seconds = 1}), 100, 100, 5.18738);
  check_round(ExponentialDevices({.example_seconds = 1}), 130, 100, 1.45360);
  check_round(ExponentialDevices({.example_seconds = 1}), 65, 50, 1.44105);
}

TEST_CASE("a round that waits for all half-normal devices takes their expected maximum") {
  check_round(HalfNormalDevices({.example_seconds = 1}), 10, 10, 1.88072);
  check_round(HalfNormalDevices({.example_seconds = 1}), 100, 100, 2.74696);
  check_round(HalfNormalDevices({.example_seconds = 1}), 1000, 1000, 3.43541);
}

TEST_CASE("a task's time is that of its examples, transfers and latencies, to the nanosecond") {
  TimeTerms terms{
      .devices = EqualDevices({.example_seconds = 0.25, .upload_megabits = 8, .download_megabits = 16, .latency = 0.5}),
      .clients = 1,
      .traffic = {.down = 4'000'000, .up = 3'000'000},
      .examples = [](ClientId, std::uint32_t count) { return 10.0 * count; }};
  CHECK(terms.length(0, 1) == 2'500'000'000 + 2'000'000'000 + 3'000'000'000 + 1'000'000'000);
  CHECK(terms.length(0, 2) - terms.length(0, 1) == 2'500'000'000);
  terms.devices = EqualDevices({.device_gigaflops = 2});
  terms.flops = 3e9;
  CHECK(terms.length(0, 1) == 15'000'000'000);
  terms.devices = EqualDevices({.example_seconds = 1, .device_jitter = 0.3});
  CHECK(terms.length(0, 1) != terms.length(0, 2) / 2);
  CHECK(terms.length(0, 1) == terms.length(0, 1));
  terms.examples = [](ClientId, std::uint32_t) { return 1e9; };
  CHECK_USAGE_ERROR(terms.length(0, 1), "client 0", "1e8");
}

TEST_CASE("operations are counted from shapes") {
  const Model model = Model::parse("dense 3 | relu | dense classes", Shape{1, 1, 4}, 2);
  CHECK(example_flops(model) == 2 * 3 * (4 * 3 + 3 * 2));
}

TEST_CASE("a table by client gives each its line; one that lacks clients, units or sense is refused") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& text) {
    static int number = 0;
    const std::string path = folder / std::to_string(++number);
    write_file(path, text);
    return error_of_kind(Error::Kind::usage, [&] { TableDevices({.device_table = path}).file_hash(3); });
  };
  write_file(folder / "good.csv", "client,gigaflops,upload_megabits,latency_milliseconds\n1,4,8,20\n0,2,0,0\n2,1,8,0\n");
  const TableDevices table({.device_table = folder / "good.csv"});
  CHECK(!table.file_hash(3).empty());
  CHECK(table.device({.client = 0, .example_flops = 6e9}).example_seconds == 3);
  CHECK(table.device({.client = 1}).upload == 1e6);
  CHECK(table.device({.client = 1}).latency == 0.02);
  CHECK(names(said("client,seconds_per_example\n0,1\n2,1\n"), {"client 1"}));
  CHECK(names(said("client,seconds_per_example\n0,1\n1,1\n"), {"client 2"}));
  CHECK(names(said("client,speed\n0,1\n"), {"'speed'", "seconds_per_example"}));
  CHECK(names(said("client,latency_seconds\n0,1\n"), {"gigaflops"}));
  CHECK(names(said("seconds_per_example,gigaflops\n1,1\n"), {"'seconds_per_example'", "'gigaflops'"}));
  CHECK(names(said("client,seconds_per_example\n0,-1\n"), {"line 2", "'-1'"}));
  CHECK(names(said("client,seconds_per_example\n0,nan\n"), {"line 2", "'nan'"}));
  CHECK(names(said("client,seconds_per_example\n0,1\n0,2\n"), {"client 0"}));
  CHECK(names(said("\x80\x04\x95"), {"pickle", "CSV"}));
  CHECK_USAGE_ERROR(TableDevices().file_hash(1), "devices", "--device-table");

  // The same of a NumPy archive; arrays of objects are pickles.
  const std::string clients = npy_bytes("<i4", "(2,)", bytes_of(std::vector<std::int32_t>{1, 0}));
  const std::string seconds = npy_bytes("<f8", "(2,)", bytes_of(std::vector<double>{4, 0.5}));
  write_file(folder / "good.npz", npz_bytes({{"client", clients}, {"seconds_per_example", seconds}}, true));
  const TableDevices archive({.device_table = folder / "good.npz"});
  CHECK(!archive.file_hash(2).empty());
  CHECK(archive.device({.client = 0}).example_seconds == 0.5);
  CHECK(archive.device({.client = 1}).example_seconds == 4);
  CHECK(names(said(npz_bytes({{"speed", seconds}})), {"'speed'", "seconds_per_example"}));
  CHECK(names(said(npz_bytes({{"client", npy_bytes("<i4", "(1,)", std::string(4, '\0'))}, {"seconds_per_example", seconds}})),
              {"'seconds_per_example'"}));
  CHECK(names(said(npz_bytes({{"seconds_per_example", npy_bytes("<f8", "(1,)", bytes_of(std::vector<double>{-1}))}})), {"-1"}));
  write_file(folder / "objects.npz", npz_bytes({{"seconds_per_example", npy_bytes("|O", "(1,)", "\x80\x04.")}}));
  CHECK_FAILURE(TableDevices({.device_table = folder / "objects.npz"}).file_hash(1), "'seconds_per_example'");
  CHECK_USAGE_ERROR(TierDevices({{}, "1,x"}).device({}), "tier-factors", "'1,x'");
}

}  // namespace fedstride::test::devices_test

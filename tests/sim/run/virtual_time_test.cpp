// Runs in virtual time: what a resumed run needs, and what privacy says of time.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "core/files.hpp"
#include "core/json.hpp"
#include "server/cohorts.hpp"
#include "sim/run/neighbours.hpp"
#include "sim/run/virtual_time.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::virtual_time_test {
namespace {

constexpr const char* kBuffered =
    "devices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 6\nbuffer = 2\nclients = 9\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

}  // namespace

TEST_CASE("the models that tasks began from are in the run's folder, as many as are needed, and a damaged one is refused") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "whole", std::string(kBuffered) + "rounds = 12\n"));
  start(settings_for(folder, "run", std::string(kBuffered) + "rounds = 7\n"));
  std::set<std::string> versions;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run/versions")) versions.insert(entry.path().string());
  CHECK(versions.size() <= 6);
  REQUIRE(!versions.empty());
  const std::string bytes = read_file(*versions.begin());
  write_file(*versions.begin(), bytes.substr(0, bytes.size() - 4));
  CHECK_FAILURE(resume(folder / "run", {{"rounds", {std::int64_t{12}}}}), "version");
  std::filesystem::remove(*versions.begin());
  CHECK_FAILURE(resume(folder / "run", {{"rounds", {std::int64_t{12}}}}), *versions.begin());
  write_file(*versions.begin(), bytes);
  resume(folder / "run", {{"rounds", {std::int64_t{12}}}});
  CHECK(hashes(folder / "run") == hashes(folder / "whole"));
}

TEST_CASE("the timeline of a resumed run has the events of all its sessions, those beyond its checkpoint once") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto with = [&](const std::string& run, const std::string& more) {
    start(settings_for(folder, run, kBuffered + more + "timeline = '" + (folder / run) + ".json'\n"));
  };
  with("whole", "rounds = 9\n");
  with("run", "rounds = 4\n");
  // A session that was killed after its last checkpoint has written more events.
  const std::string events = read_file(folder / "run/timeline.events");
  write_file(folder / "run/timeline.events", events + "\5" + std::string(40, '\0'));
  resume(folder / "run", {{"rounds", {std::int64_t{9}}}});
  CHECK(read_file(folder / "run.json") == read_file(folder / "whole.json"));
  CHECK(parse_json(read_file(folder / "run.json"))["traceEvents"].size() >= 9 * 3);
}

TEST_CASE("under privacy, time means zero-out neighbors, no amplification by cohorts, and a release a version for every client") {
  const std::string client = "dp = 'client'\nnoise-multiplier = 1.0\nclip = 1.0\noptimizer = 'sgd'\n";
  const TemporaryFolder folder;
  write_data(folder);
  const auto prepared = [&](const std::string& more) { return prepare(resolve(settings_for(folder, "x", client + more))); };
  const Setup plain = prepared("cohort = 'poisson'\ncohort-rate = 0.5\n");
  CHECK(plain.privacy.client_release.sampling == Sampling::poisson);
  CHECK(plain.privacy.client->neighbours == Neighbours::add_remove);
  const Setup timed = prepared("cohort = 'poisson'\ncohort-rate = 0.5\ndevices = 'lognormal'\ndeadline = 100.0\n");
  CHECK(timed.privacy.client_release.sampling == Sampling::full);
  CHECK(timed.privacy.client_release.rate == 1);
  CHECK(timed.privacy.client->neighbours == Neighbours::zero_out);
  CHECK(timed.rules.sum.denominator == plain.rules.sum.denominator);
  const Setup buffered = prepared("devices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 3\nbuffer = 2\n");
  CHECK(buffered.privacy.client_release.sampling == Sampling::full);
  CHECK(buffered.privacy.client->neighbours == Neighbours::zero_out);
  CHECK(buffered.rules.sum.denominator == 2);
  CHECK_USAGE_ERROR(prepared("devices = 'lognormal'\nneighbours = 'add-remove'\n"), "add-remove");
  const auto examples = resolve(settings_for(folder, "x",
                                             "dp = 'example'\nnoise-multiplier = 1.0\npartition = 'natural'\n"
                                             "optimizer = 'sgd'\ndevices = 'equal'\n"));
  CHECK(example_neighbours(examples) == Neighbours::zero_out);
  const RunSummary summary = start(
      settings_for(folder, "run", client + "devices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 3\nbuffer = 2\nrounds = 4\n"));
  REQUIRE(summary.privacy.size() == 1);
  CHECK(summary.rounds == 4);
  CHECK(summary.ledger.lines == 1 + 2 * 4);  // the head, and two lines a version
}

TEST_CASE("over-selection asks more clients and keeps the cohort's size") {
  const TemporaryFolder folder;
  write_data(folder);
  const Setup setup = prepare(resolve(settings_for(
      folder, "x",
      "devices = 'lognormal'\ncohort = 'fixed'\ncohort-size = 2\nclients = 9\nover-selection = 1.3\noptimizer = 'sgd'\n")));
  CHECK(*Cohort(setup.rules.cohort)->size_setting() == 3);
  CHECK(make_time_terms(setup).cohort_goal == 2);
}

}  // namespace fedstride::test::virtual_time_test

// Runs in virtual time: what a resumed run needs, and what privacy says of time.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/ledger/audit.hpp"
#include "server/cohorts.hpp"
#include "sim/run/virtual_time.hpp"
#include "sim/settings/neighbours.hpp"
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

TEST_CASE("bytes are those of every task: a model to each, an update from each that ended in time, wasted if it is in no sum") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto summed = [&](const std::string& run, const std::string& name) {
    double sum = 0;
    const std::string lines = read_file(folder / (run + "/rounds.jsonl"));
    for (const auto line : split(trimmed(lines), '\n')) sum += parse_json(line)[name].get<double>();
    return sum;
  };
  start(settings_for(folder, "plain", "clients = 12\nrounds = 1\noptimizer = 'sgd'\n"));
  const double down = summed("plain", "downlink_bytes") / 12, up = summed("plain", "uplink_bytes") / 12;
  CHECK(summed("plain", "wasted_bytes") == 0);
  const std::string devices = "clients = 12\noptimizer = 'sgd'\ndevices = 'exponential'\n";
  const std::map<std::string, std::string> runs{
      {"over-selected", "rounds = 4\ncohort = 'fixed'\ncohort-size = 4\nover-selection = 1.5\n"},
      {"deadline", "rounds = 4\ndeadline = 0.5\n"},
      {"abandoned", "rounds = 4\ndeadline = 0.5\nminimum-arrivals = 12\n"},
      {"capped", "rounds = 12\nmode = 'fedbuff'\nconcurrency = 8\nbuffer = 2\nstaleness-cap = 1\n"}};
  for (const auto& [run, more] : runs) {
    CAPTURE(run);
    start(settings_for(folder, run, devices + more));
    const double late = summed(run, "late_clients"), dropped = summed(run, "dropped_updates");
    const double arrived = (run == "over-selected" ? 4 * 4 : run == "capped" ? 2 * 12 : 4 * 12 - late - dropped);
    CHECK(late + dropped > 0);
    CHECK((dropped > 0) == (run == "abandoned" || run == "capped"));
    CHECK(summed(run, "downlink_bytes") == (arrived + late + dropped) * down);
    CHECK(summed(run, "uplink_bytes") == (arrived + dropped) * up);
    CHECK(summed(run, "wasted_bytes") == (late + dropped) * down + dropped * up);
    const Json summary = parse_json(read_file(folder / (run + "/summary.json")));
    for (const char* name : {"downlink_bytes", "uplink_bytes", "wasted_bytes"}) CHECK(summary[name] == summed(run, name));
  }
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

TEST_CASE("a buffered run charges the participations of the client that takes part most often, resumed or not") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string more =
      "dp = 'client'\nnoise-multiplier = 2.0\nclip = 1.0\noptimizer = 'sgd'\nclients = 9\ndevices = 'lognormal'\n"
      "mode = 'fedbuff'\nconcurrency = 4\nbuffer = 2\n";
  const Setting timeline{folder / "trace.json", true};
  auto settings = settings_for(folder, "run", more + "rounds = 14\n");
  settings["timeline"] = timeline;
  const RunSummary whole = start(settings);
  // A second count, by the timeline of what arrived.
  std::map<int, std::uint64_t> arrivals;
  const Json events = parse_json(read_file(folder / "trace.json"))["traceEvents"];
  for (const Json& event : events)
    if (event.at("name") == "arrived") ++arrivals[event.at("tid").get<int>()];
  std::uint64_t most = 0, all = 0;
  for (const auto& [client, count] : arrivals) most = std::max(most, count), all += count;
  CHECK(all == 14 * 2);
  CHECK(most > 3);
  CHECK(most < 14);
  const Spending spending{{.sampling = Sampling::full, .neighbours = Neighbours::zero_out, .noise_multiplier = 2, .count = most}};
  const auto accountant = make_part<Accountant>("accountant", "tight");
  REQUIRE(whole.privacy.size() == 1);
  CHECK(whole.privacy[0].epsilon == doctest::Approx(epsilon_by(accountant, spending, 1e-5).value).epsilon(1e-9));
  const Audit audit = audit_ledger(folder / "run/ledger.jsonl", {whole.ledger}, {}, true);
  CHECK(audit.failures == std::vector<std::string>{});
  REQUIRE(audit.statements.size() == 1);
  CHECK(audit.statements[0].statement.epsilon == whole.privacy[0].epsilon);
  start(settings_for(folder, "half", more + "rounds = 7\n"));
  const RunSummary on = resume(folder / "half", {{"rounds", {"14", true}}});
  CHECK(on.privacy[0].epsilon == whole.privacy[0].epsilon);
  // A budget for one participation more goes on to the first version that needs another.
  Spending budget = spending;
  budget[0].count = 3;
  const double epsilon = epsilon_by(accountant, budget, 1e-5).value * (1 + 1e-9);
  const RunSummary ended = start(settings_for(folder, "budget", more + "rounds = 14\nepsilon = " + number_text(epsilon) + "\n"));
  CHECK(ended.rounds < 14);
  CHECK(ended.privacy[0].epsilon == doctest::Approx(epsilon).epsilon(1e-6));
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

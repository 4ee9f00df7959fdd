// Virtual time by the program: fedstride devices, what results say of it, and bad input.
#include <doctest/doctest.h>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::devices_test {
namespace {

Words with_time(const TemporaryFolder& folder, const std::string& out, Words more) {
  more.insert(more.end(), {"--optimizer", "sgd", "--learning-rate", "0.1", "--quiet", "--out", folder / out});
  if (std::ranges::find(more, "--devices") == more.end()) more.insert(more.end(), {"--devices", "lognormal"});
  return federation(folder, more);
}

Json summary_of(const TemporaryFolder& folder, const std::string& out) {
  return Json::parse(fedstride::read_file(folder / (out + "/summary.json")));
}

}  // namespace

TEST_CASE("devices shows the times of a run's clients as a table and a figure, and as JSON") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  Words words =
      federation(folder, {"--devices", "tiers", "--clients", "30", "--upload-megabits", "1", "--example-seconds", "0.5"});
  words.front() = "devices";
  const Outcome shown = run_program(words);
  REQUIRE_MESSAGE(shown.code == 0, shown.err);
  CHECK(names(shown.out.substr(0, shown.out.find('\n')), {"median", "90 %"}));
  CHECK(shown.out.find("task_seconds") != std::string::npos);
  CHECK(shown.out.find("####") != std::string::npos);
  words.emplace_back("--json");
  const Json json = Json::parse(run_program(words).out);
  CHECK(json["clients"] == 30);
  CHECK(json["example_seconds"]["p0"] == 0.5);
  CHECK(json["example_seconds"]["p100"] == 5);
  CHECK(json["upload_bytes"].get<int>() > 4 * (3 * 3 + 3));
  const Outcome refused = run_program({"devices"});
  CHECK(refused.code == 2);
  CHECK(names(refused.err, {"devices", "'none'", "--devices"}));
}

TEST_CASE("results have the time of every round, who was late, and a time line in Chrome's form") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome outcome = run_program(with_time(folder, "run",
                                                {"--clients", "12", "--cohort", "fixed", "--cohort-size", "4", "--rounds", "5",
                                                 "--over-selection", "1.5", "--timeline", folder / "line.json"}));
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  double before = 0;
  const std::string lines = fedstride::read_file(folder / "run/rounds.jsonl");
  for (const auto line : split(lines, '\n')) {
    if (line.empty()) continue;
    const Json json = Json::parse(line);
    CHECK(json["virtual_seconds"].get<double>() > before);
    before = json["virtual_seconds"].get<double>();
    CHECK(json["late_clients"] == 2);
    CHECK(json["clients"].size() == 4);
  }
  const Json summary = summary_of(folder, "run");
  CHECK(summary["virtual_seconds"] == before);
  CHECK(summary["late_clients"] == 10);
  CHECK(summary["arrived_updates"] == 20);
  CHECK(summary["updates_by_speed"].size() == 10);
  CHECK(Json::parse(fedstride::read_file(folder / "line.json"))["traceEvents"].size() == 5 * 6 + 5);
  // Without devices there is no such field.
  REQUIRE(run_program(federation(folder, {"--out", folder / "plain", "--quiet"})).code == 0);
  CHECK(!summary_of(folder, "plain").contains("virtual_seconds"));
  CHECK(fedstride::read_file(folder / "plain/rounds.jsonl").find("virtual") == std::string::npos);
}

TEST_CASE(
    "FedBuff with all clients at work, a full buffer and equal devices has the rounds of federated averaging with equal "
    "weights") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(with_time(folder, "sync", {"--devices", "equal", "--rounds", "4", "--weights", "equal", "--clients", "5"}))
              .code == 0);
  REQUIRE(run_program(with_time(folder, "buffered",
                                {"--devices", "equal", "--rounds", "4", "--mode", "fedbuff", "--buffer", "5", "--concurrency",
                                 "5", "--clients", "5"}))
              .code == 0);
  CHECK(summary_of(folder, "sync")["model_hash"] == summary_of(folder, "buffered")["model_hash"]);
  CHECK(summary_of(folder, "sync")["virtual_seconds"] == summary_of(folder, "buffered")["virtual_seconds"]);
}

TEST_CASE("deadlines, tables and availability that cannot work are refused in one line, and nobody there ends the run") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const auto refused = [&](const Words& more, int code, std::initializer_list<std::string_view> parts) {
    static int number = 0;
    const std::string out = "bad" + std::to_string(++number);
    const Outcome outcome = run_program(with_time(folder, out, more));
    CHECK_MESSAGE((outcome.code == code && names(outcome.err, parts)), outcome.err);
  };
  fedstride::write_file(folder / "two.csv", "client,seconds_per_example\n0,1\n1,1\n");
  fedstride::write_file(folder / "away.csv", "client,from_seconds,to_seconds\n0,0,0.001\n");
  fedstride::write_file(folder / "overlap.csv", "client,from_seconds,to_seconds\n0,0,2\n0,1,3\n");
  refused({"--deadline", "0.001"}, 2, {"deadline", "0.001", "3 clients"});
  refused({"--devices", "table", "--device-table", folder / "two.csv"}, 2, {"device-table", "client 2"});
  refused({"--example-seconds", "-1"}, 2, {"example-seconds", "-1"});
  refused({"--example-seconds", "nan"}, 2, {"example-seconds"});
  refused({"--mode", "fedbuff", "--concurrency", "2", "--buffer", "3"}, 2, {"buffer", "3", "concurrency 2"});
  refused({"--availability", "table", "--availability-table", folder / "overlap.csv"}, 2, {"client 0", "1"});
  refused({"--availability", "table", "--availability-table", folder / "away.csv", "--rounds", "3"}, 1, {"--availability"});
  refused({"--availability", "table", "--availability-table", folder / "away.csv", "--mode", "fedasync", "--concurrency", "2"}, 1,
          {"--availability"});
  // Nobody meets a deadline in rounds in which the factors are large: they change nothing, and a note says so.
  REQUIRE(run_program(with_time(folder, "late",
                                {"--devices", "equal", "--example-seconds", "1", "--device-jitter", "2", "--deadline", "20",
                                 "--minimum-arrivals", "3", "--rounds", "6"}))
              .code == 0);
  CHECK(summary_of(folder, "late")["abandoned_rounds"].get<int>() > 0);
  CHECK(summary_of(folder, "late")["notes"].dump().find("minimum-arrivals") != std::string::npos);
}

}  // namespace fedstride::test::devices_test

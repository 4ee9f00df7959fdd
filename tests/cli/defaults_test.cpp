#include <doctest/doctest.h>

#include <regex>

#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::defaults_test {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// ADADP with steps that are undone whatever they do.
const Words kIdle{"--optimizer", "adadp", "--tolerance", "1e-12", "--learning-rate", "1000"};

constexpr const char* kExperiment = R"(
model = "logistic"
clients = 1
rounds = 1
threads = 1
optimizer = "sgd"
learning-rate = 0.1
seed = 1
)";

}  // namespace

TEST_CASE("a round in which no step was kept says so in its line, with advice the first time and at the end, and on the page") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome outcome = run_program(federation(folder, kIdle));
  CHECK(outcome.code == 0);
  CHECK(times(outcome.out, "  no step kept  ") == 2);
  CHECK(times(outcome.out, "--learning-rate") == 2);
  const auto first = outcome.out.find("\nround 1: "), last = outcome.out.rfind("\nnote: ");
  REQUIRE((first != std::string::npos && last != std::string::npos));
  const auto line = [&](std::size_t at) { return outcome.out.substr(at + 1, outcome.out.find('\n', at + 1) - at - 1); };
  CHECK(names(line(first), {"step", "--learning-rate", "1000"}));
  CHECK(names(line(last), {"2 of 2 rounds", "step", "--learning-rate", "1000"}));
  REQUIRE(run_program({"report", folder / "out"}).code == 0);
  const std::string page = read_file(folder / "out/report.html");
  const std::string note = "2 of 2 rounds";
  CHECK(has(page, note));
  CHECK(has(page.substr(page.find(note)), "--learning-rate"));
  CHECK(has(page, "<td>training and averaging</td><td>"));

  const Outcome good = run_program(federation(folder, {"--out", folder / "good", "--optimizer", "sgd"}));
  CHECK(!has(good.out, "no step"));
  REQUIRE(run_program({"report", folder / "good"}).code == 0);
  CHECK(!has(read_file(folder / "good/report.html"), note));
}

TEST_CASE("a flag may be repeated with the same value, and overrides a file") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  write_file(folder / "a.toml", "seed = 1\n");
  CHECK(
      run_program(federation(folder, {"--config", folder / "a.toml", "--seed", "7", "--seed", "7", "--quiet", "--quiet"})).code ==
      0);
  CHECK(has(read_file(folder / "out/config.toml"), "seed = 7\n"));
  CHECK(has(run_program({"privacy", "epsilon", "--noise-multiplier", "1", "--sampling-rate", "0.01", "--sampling-rate", "0.01",
                         "--steps", "10", "--steps", "10", "--delta", "1e-5"})
                .out,
            "rate 0.01, noise multiplier 1, 10 steps"));
  // A list of folders is a list still.
  REQUIRE(run_program(federation(folder, {"--out", folder / "b", "--quiet"})).code == 0);
  const Outcome both =
      run_program({"report", folder / "out", folder / "b", "--out", folder / "y.html", "--out", folder / "y.html"});
  CHECK(both.out.ends_with("\n" + (folder / "y.html") + "\n"));
  CHECK(has(read_file(folder / "y.html"), "<h1>2 runs</h1>"));
}

TEST_CASE("resuming a finished run says that there is nothing to do") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--quiet"})).code == 0);
  CHECK(has(run_program({"run", "--resume", folder / "out"}).out, "nothing to do: round 2 of 2"));
  const Outcome longer = run_program({"run", "--resume", folder / "out", "--rounds", "3"});
  CHECK(has(longer.out, "resuming after round 2"));
  CHECK(!has(longer.out, "nothing to do"));
}

TEST_CASE("--json prints the results of any command as JSON, and nothing else") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  write_file(folder / "experiment.toml", kExperiment);
  const Words data{"--data", folder / "data"};
  const Words question{"--noise-multiplier", "4", "--sampling-rate", "0.01", "--json"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::pair<Words, std::string> commands[] = {
      {federation(folder, {"--json", "--dp", "example", "--noise-multiplier", "1", "--optimizer", "sgd"}), "test_accuracy"},
      {{"run", "--resume", folder / "out", "--rounds", "3", "--json"}, "folder"},
      {with({"sweep", folder / "experiment.toml", "--out", folder / "sweep", "--dry-run", "--json"}, data), "cells"},
      {with({"sweep", folder / "experiment.toml", "--out", folder / "sweep", "--json"}, data), "finished"},
      {{"report", folder / "sweep", "--json"}, "page"},
      {{"evaluate", folder / "out", "--json"}, "accuracy"},
      {with({"partition", "--clients", "3", "--json"}, data), "clients"},
      {with({"data", "verify", "file", "--json"}, data), "found"},
      {with({"data", "roster", "file", "--client", "2", "--json"}, data), "client"},
      {{"bench", "--model", "dense classes", "--seconds", "0.01", "--json"}, "steps"},
      {with({"privacy", "epsilon", "--steps", "10", "--delta", "1e-5"}, question), "epsilon"},
      {with({"privacy", "delta", "--steps", "10", "--epsilon", "1"}, question), "delta"},
      {{"privacy", "calibrate", "--epsilon", "3", "--delta", "1e-5", "--sampling-rate", "0.01", "--steps", "10", "--json"},
       "noise_multiplier"},
      {with({"privacy", "steps", "--epsilon", "1", "--delta", "1e-5"}, question), "steps"},
      {with({"privacy", "compare", "--steps", "10", "--delta", "1e-5"}, question), "accountants"},
      {{"privacy", "schedule", "--kappa", "5", "--budget", "0.5", "--steps", "5", "--json"}, "sigmas"},
      {{"privacy", "audit", folder / "out", "--json"}, "statements"},
      {{"certificates", "--clients", "1", "--out", folder / "certificates", "--json"}, "expires"},
      {{"launch", "--data", folder / "data", "--model", "logistic", "--clients", "2", "--rounds", "1", "--threads", "1", "--out",
        folder / "launched", "--json"},
       "test_accuracy"}};
  for (const auto& [words, key] : commands) {
    const Outcome outcome = run_program(words);
    CAPTURE(words[0] + " " + words[1]);
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    CHECK_MESSAGE(Json::parse(outcome.out, nullptr, false).contains(key), outcome.out);
  }
  const Json summary = Json::parse(read_file(folder / "launched/summary.json"));
  CHECK(Json::parse(run_program({"data", "list", "--json"}).out).size() >= 8);
  CHECK(summary["rounds"] == 1);
}

TEST_CASE("one is one client, one row, one round, one cell") {
  const TemporaryFolder folder;
  write_table(folder / "data", 6, 1);
  write_file(folder / "experiment.toml", kExperiment);
  std::string all;
  const auto add = [&](const Words& words) {
    const Outcome outcome = run_program(words);
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    all += outcome.out + outcome.err;
  };
  add(federation(folder,
                 {"--clients", "1", "--rounds", "1", "--optimizer", "sgd", "--dp", "example", "--noise-multiplier", "1"}));
  add({"privacy", "audit", folder / "out"});
  add({"evaluate", folder / "out"});
  add({"sweep", folder / "experiment.toml", "--out", folder / "sweep", "--data", folder / "data"});
  add({"report", folder / "sweep"});
  all += read_file(folder / "sweep/report.html");
  for (const char* one : {"1 client, ", "1 test row", "1 example", "1 round reserved", "1 of 1 cell finished", "1 of 1 cell is "})
    CHECK_MESSAGE(has(all, one), one);
  std::smatch match;
  const bool wrong = std::regex_search(
      all, match,
      std::regex("[^0-9.]1 (training |test )?(clients|rows|rounds|cells|examples|steps|lines|runs|epochs|releases)\\b"));
  CHECK_MESSAGE(!wrong, match.str());
}

}  // namespace fedstride::test::defaults_test

#include <chrono>
#include <thread>

#include "core/text.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::tune_test {

namespace fs = std::filesystem;

namespace {

// Three rates on the table in folder/data.
void write_rates(const TemporaryFolder& folder, int rounds, const std::string& more = "", const std::string& axes = "") {
  write_table(folder / "data", 300);
  std::ofstream(folder / "rates.toml")
      << "data = '" << (folder / "data")
      << "'\nmodel = 'logistic'\nclients = 3\noptimizer = 'sgd'\nvalidation-fraction = 0.2\nrounds = " << rounds << "\n"
      << more << "[sweep]\n"
      << (axes.empty() ? "learning-rate = [0.001, 0.1, 0.3]\n" : axes);
}

Words tuning(const TemporaryFolder& folder, const std::string& out, const Words& more = {}) {
  return with_flags({"tune", folder / "rates.toml", "--out", folder / out, "--threads", "2", "--jobs", "2"}, more);
}

std::string last_hash(const fs::path& run) { return Json::parse(fedstride::read_file(run / "summary.json"))["model_hash"]; }

// The blocks of docs/sweeps.md, by the language behind their ```.
std::vector<std::string> blocks(const std::string& language) {
  std::vector<std::string> found;
  const std::string text = fedstride::read_file(fs::path(FEDSTRIDE_SOURCE_DIR) / "docs/sweeps.md");
  for (std::size_t at = text.find("```" + language + "\n"); at != text.npos; at = text.find("```" + language + "\n", at + 1)) {
    const std::size_t from = text.find('\n', at) + 1;
    found.push_back(text.substr(from, text.find("```", from) - from));
  }
  return found;
}

}  // namespace

TEST_CASE("fedstride tune tells each rung, its noise and the winner, whose file repeats the winner's run") {
  const TemporaryFolder folder;
  write_rates(folder, 6);
  const Outcome outcome = run_program(tuning(folder, "out"));
  CHECK(outcome.err == "");
  REQUIRE(outcome.code == 0);
  for (const char* part :
       {"bracket 1, rung 1: 3 configurations at 2 rounds\n", "rung 2: 1 configuration at 6 rounds\n", "goes on: learning-rate 0.",
        "winner: learning-rate 0.", "the cut, 0.", "is within the 95 % interval of 1 chosen"})
    CHECK_MESSAGE(outcome.out.find(part) != outcome.out.npos, part, outcome.out);
  const auto json = Json::parse(run_program(tuning(folder, "out", {"--json"})).out);
  const fs::path winner = folder.path() / "out" / json["winner"]["run"].get<std::string>();
  REQUIRE(run_program({"run", "--config", folder / "out/tune/winner.toml", "--out", folder / "again", "--quiet"}).code == 0);
  CHECK(last_hash(folder / "again") == last_hash(winner));
  CHECK(run_program({"report", folder / "out", "--out", folder / "page.html"}).code == 0);
  CHECK(run_program(tuning(folder, "out", {"--quiet"})).out == "");
}

TEST_CASE("a tune that was killed at five moments ends as one that was not") {
  const TemporaryFolder folder;
  write_rates(folder, 81, "", "learning-rate = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]\n");
  const std::string out = folder / "out";
  const auto finished = [&] {
    std::size_t rounds = 0;
    std::error_code error;
    for (fs::directory_iterator cell(fs::path(out) / "cells", error), end; !error && cell != end; cell.increment(error))
      if (const fs::path file = cell->path() / "rounds.jsonl"; fs::exists(file, error))
        rounds += line_count(fedstride::read_file(file));
    return rounds;
  };
  const Words words = tuning(folder, "out", {"--hyperband", "--quiet"});
  for (int session = 0; session < 5; ++session) {
    const TemporaryFolder output;
    const std::size_t wanted = finished() + 20;
    const Process process(words, output);
    for (int i = 0; i < 60'000 && finished() < wanted; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.signal(SIGKILL);
    REQUIRE(process.wait() == -SIGKILL);
  }
  CHECK(!fs::exists(folder / "out/tune/winner.toml"));
  const Outcome last = run_program(words);
  CHECK(last.code == 0);
  CHECK(last.err == "");
  REQUIRE(run_program(tuning(folder, "whole", {"--hyperband", "--quiet"})).code == 0);
  for (const char* name : {"rungs.csv", "tune.json", "winner.toml"})
    CHECK(fedstride::read_file(folder / ("out/tune/" + std::string(name))) ==
          fedstride::read_file(folder / ("whole/tune/" + std::string(name))));
}

TEST_CASE("SIGTERM ends a tune, which says how to go on") {
  const TemporaryFolder folder;
  write_rates(folder, 1000, "local-epochs = 100000\n");
  const TemporaryFolder output;
  const Process process(tuning(folder, "out", {"--batch", "20"}), output);
  for (int i = 0; i < 10'000 && !fs::exists(folder / "out/cells"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  process.signal(SIGTERM);
  CHECK(process.wait() == 130);
  CHECK(names(process.err(), {"stopped", "fedstride tune", "--batch 20"}));
}

TEST_CASE("the example of the page is planned and carried out") {
  const TemporaryFolder folder;
  const auto files = blocks("toml");
  REQUIRE(std::ranges::count_if(files, [](const std::string& one) { return one.starts_with("# rates.toml\n"); }) == 1);
  for (const std::string& one : files)
    if (one.starts_with("# rates.toml\n")) std::ofstream(folder / "rates.toml") << one;
  int lines = 0;
  for (const std::string& block : blocks("sh"))
    for (const auto line : split(block, '\n')) {
      if (line.find("rates") == line.npos) continue;
      ++lines;
      const std::string command = "cd " + folder.path().string() + " && " + FEDSTRIDE_PROGRAM + std::string(line.substr(9)) +
                                  " --rounds 3 --limit-per-client 20 --model logistic > told";
      CAPTURE(command);
      REQUIRE(std::system(command.c_str()) == 0);
      if (line.find("--dry-run") != line.npos)
        CHECK(fedstride::read_file(folder / "told").find("12 configurations at 1 round\n") != std::string::npos);
    }
  CHECK(lines == 3);
}

TEST_CASE("a tune's bad input is one line") {
  const TemporaryFolder folder;
  write_rates(folder, 6);
  std::ofstream(folder / "one.toml") << "validation-fraction = 0.1\nrounds = 3\n";
  std::ofstream(folder / "other.toml") << "validation-fraction = 0.1\nrounds = 3\n[sweep]\nbatch = [1, 2]\n";
  REQUIRE(run_program(tuning(folder, "made")).code == 0);
  const Refusal rows[] = {
      {{"tune"}, 2, {"FILE", "fedstride tune --help"}},
      {{"tune", "@/none.toml"}, 1, {"@/none.toml"}},
      {{"tune", "@/one.toml", "--out", "@/out"}, 2, {"two", "[sweep]"}},
      {{"tune", "@/rates.toml", "--learning-rate", "0.1", "--out", "@/out"}, 2, {"two", "[sweep]"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--eta", "1"}, 2, {"eta", "1", "2"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--min-rounds", "7"}, 2, {"min-rounds", "7", "6"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--rounds", "0"}, 2, {"rounds", "0"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--validation-fraction", "0"}, 2, {"validation-fraction", "0"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--configurations", "4"}, 2, {"configurations", "4", "3"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--draw-seed", "4"}, 2, {"draw-seed", "--hyperband"}},
      {{"tune", "@/rates.toml", "--out", "@/made", "--eta", "2"}, 2, {"out", "@/made", "eta 3", "eta 2"}},
      {{"tune", "@/other.toml", "--out", "@/made"}, 2, {"out", "@/made", "'rates'", "'other'"}},
      {{"tune", "@/rates.toml", "--out", "@/data"}, 2, {"out", "@/data"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--etta", "2"}, 2, {"--etta", "--eta"}},
      {{"tune", "@/rates.toml", "--out", "@/out", "--dp", "client", "--noise-multiplier", "1", "--clip", "1", "--classes", "3",
        "--mean", "0", "--deviation", "1", "--public-test"},
       2,
       {"dp", "'client'", "--accounted"}},
  };
  for (const Refusal& row : rows) check_refused(row, folder);
}

}  // namespace fedstride::test::tune_test

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.hpp"

using namespace fedstride::test;
namespace fs = std::filesystem;

namespace {

Words long_run(const TemporaryFolder& folder, const std::string& out, const std::string& rounds = "40") {
  return federation(folder, {"--out", folder / out, "--model", "dense 32 | relu | dense 32 | relu | dense classes", "--rounds",
                             rounds, "--local-epochs", "4", "--threads", "2", "--quiet"});
}

Words going_on(const TemporaryFolder& folder, const std::string& out) { return {"run", "--resume", folder / out}; }

std::size_t finished_rounds(const TemporaryFolder& folder, const std::string& out) {
  std::error_code error;
  const std::string path = folder / (out + "/rounds.jsonl");
  return fs::exists(path, error) ? line_count(fedstride::read_file(path)) : 0;
}

// Waits until the run has that many rounds, at most a minute.
bool reaches(const TemporaryFolder& folder, const std::string& out, std::size_t rounds) {
  for (int i = 0; i < 60'000; ++i) {
    if (finished_rounds(folder, out) >= rounds) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

struct Row {
  int round;
  std::string hash;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows(const TemporaryFolder& folder, const std::string& out) {
  std::vector<Row> result;
  std::ifstream file(folder / (out + "/rounds.jsonl"));
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    result.push_back({json["round"], json["model_hash"]});
  }
  return result;
}

void check_same_end(const TemporaryFolder& folder, const std::string& out, const std::string& whole) {
  CHECK(rows(folder, out) == rows(folder, whole));
  CHECK(fedstride::read_file(folder / (out + "/model.safetensors")) == fedstride::read_file(folder / (whole + "/model.safetensors")));
  for (const auto& entry : fs::directory_iterator(folder / out)) CHECK(entry.path().extension() != ".tmp");
}

}  // namespace

TEST_CASE("a run killed at ten moments and resumed each time ends with the model of an unbroken one") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  REQUIRE(run_program(long_run(folder, "whole")).code == 0);
  REQUIRE(rows(folder, "whole").size() == 40);

  fedstride::RandomStream random(3, {.purpose = fedstride::Purpose::test});
  int killed = 0;
  for (int session = 0; session < 10; ++session) {
    const TemporaryFolder output;
    const std::size_t before = finished_rounds(folder, "broken");
    const Process process(session == 0 ? long_run(folder, "broken") : going_on(folder, "broken"), output);
    // One to three rounds on, then anywhere in a round, in its evaluation or in the writing of its checkpoint.
    REQUIRE(reaches(folder, "broken", before + 1 + random.below(3)));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(30'000)));
    process.signal(SIGKILL);
    killed += process.wait() == -SIGKILL ? 1 : 0;
  }
  CHECK(killed >= 5);  // on a fast machine the last sessions may find nothing left to do
  const Outcome last = run_program(going_on(folder, "broken"));
  CHECK(last.code == 0);
  CHECK(last.err == "");
  check_same_end(folder, "broken", "whole");
  for (std::size_t i = 0; i < 40; ++i) CHECK(rows(folder, "broken")[i].round == static_cast<int>(i + 1));
}

TEST_CASE("a run killed while it begins can be resumed, or begun again in the same folder") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(long_run(folder, "whole", "2")).code == 0);
  for (const auto& left : std::vector<Words>{{"config.toml"}, {"config.toml", "partition.json"}, {"config.toml", "rounds.jsonl"}}) {
    fs::create_directory(folder / "broken");
    for (const auto& name : left) std::ofstream(folder / ("broken/" + name)) << (name == "config.toml" ? fedstride::read_file(folder / "whole/config.toml") : "");
    CHECK(run_program(going_on(folder, "broken")).code == 0);
    check_same_end(folder, "broken", "whole");
    fs::remove_all(folder / "broken");
  }
  fs::create_directory(folder / "broken");
  std::ofstream(folder / "broken/config.toml.tmp") << "dataset = 'c";
  CHECK(run_program(going_on(folder, "broken")).code == 2);
  CHECK(run_program(long_run(folder, "broken", "2")).code == 0);
  check_same_end(folder, "broken", "whole");
}

TEST_CASE("Ctrl-C and SIGTERM end a run with exit code 130 and the command that goes on with it") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  REQUIRE(run_program(long_run(folder, "whole")).code == 0);
  for (const int number : {SIGINT, SIGTERM}) {
    CAPTURE(number);
    const std::string out = "out" + std::to_string(number);
    const TemporaryFolder output;
    const Process process(long_run(folder, out), output);
    REQUIRE(reaches(folder, out, 2));
    process.signal(number);
    CHECK(process.wait() == 130);
    CHECK(process.err() == "fedstride: stopped; go on with: fedstride run --resume " + (folder / out) + "\n");
    const std::size_t done = rows(folder, out).size();
    CHECK(done >= 2);
    CHECK(done < 40);
    const auto summary = nlohmann::json::parse(fedstride::read_file(folder / (out + "/summary.json")));
    CHECK(summary["finished"] == false);
    CHECK(summary["rounds"] == done);
    CHECK(run_program(going_on(folder, out)).code == 0);
    check_same_end(folder, out, "whole");
  }
}

TEST_CASE("a second process on one folder is refused while the first one runs, and does it no harm") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  const TemporaryFolder output;
  const Process process(long_run(folder, "out"), output);
  REQUIRE(reaches(folder, "out", 1));
  const Outcome second = run_program(going_on(folder, "out"));
  CHECK(second.code == 1);
  CHECK(second.err == "fedstride: another fedstride process is running in '" + (folder / "out") + "'\n");
  CHECK(process.wait() == 0);
  CHECK(rows(folder, "out").size() == 40);
}

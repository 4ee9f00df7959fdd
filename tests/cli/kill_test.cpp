#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "core/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::kill_test {

namespace fs = std::filesystem;

namespace {

// A run that would go on for hours unless told how many rounds to do.
Words long_run(const TemporaryFolder& folder, const std::string& out, std::size_t rounds = 1'000'000, const Words& more = {}) {
  const Words words = federation(folder, {"--out", folder / out, "--model", "dense 32 | relu | dense 32 | relu | dense classes",
                                          "--rounds", std::to_string(rounds), "--local-epochs", "4", "--threads", "2",
                                          "--server-optimizer", "momentum", "--server-momentum", "0.5", "--quiet"});
  return with_flags(words, more);
}

Words going_on(const TemporaryFolder& folder, const std::string& out, std::size_t rounds) {
  return {"run", "--resume", folder / out, "--rounds", std::to_string(rounds), "--quiet"};
}

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
    const auto json = Json::parse(line);
    result.push_back({json["round"], json["model_hash"]});
  }
  return result;
}

// Finishes the broken run some rounds on, and holds it against an unbroken one of as many rounds.
void check_goes_on(const TemporaryFolder& folder, const std::string& out, const Words& more = {}) {
  const std::size_t rounds = finished_rounds(folder, out) + 3;
  const Outcome last = run_program(going_on(folder, out, rounds));
  CHECK(last.code == 0);
  CHECK(last.err == "");
  REQUIRE(run_program(long_run(folder, out + "-whole", rounds, more)).code == 0);
  const auto whole = rows(folder, out + "-whole");
  CHECK(rows(folder, out) == whole);
  REQUIRE(whole.size() == rounds);
  for (std::size_t i = 0; i < rounds; ++i) CHECK(whole[i].round == static_cast<int>(i + 1));
  CHECK(fedstride::read_file(folder / (out + "/model.safetensors")) ==
        fedstride::read_file(folder / (out + "-whole/model.safetensors")));
  for (const auto& entry : fs::directory_iterator(folder / out)) CHECK(!fedstride::is_temporary(entry.path()));
}

}  // namespace

TEST_CASE(
    "a run killed at ten moments and resumed each time ends with the model of an unbroken one, states of clients included") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  fedstride::RandomStream random(3, {.purpose = fedstride::Purpose::test});
  const Words kept{"--local-objective", "scaffold", "--scaffold-option", "one", "--client-state", "keep"};
  Words seldom = kept;
  seldom.insert(seldom.end(), {"--checkpoint-every", "3"});
  // Tasks at work when it is killed began from older models.
  const Words buffered{"--devices",     "lognormal", "--mode",         "fedbuff", "--buffer",           "2",
                       "--concurrency", "3",         "--client-state", "keep",    "--checkpoint-every", "2"};
  int number = 0;
  for (const Words& more : {Words{}, kept, seldom, buffered}) {
    const std::string out = "out" + std::to_string(number++);
    CAPTURE(out);
    for (int session = 0; session < 10; ++session) {
      const TemporaryFolder output;
      const std::size_t before = finished_rounds(folder, out);
      const Process process(session == 0 ? long_run(folder, out, 1'000'000, more) : going_on(folder, out, 1'000'000), output);
      // One to three rounds on, then anywhere in a round, in its evaluation or in the writing of its checkpoint.
      REQUIRE(reaches(folder, out, before + 1 + random.below(3)));
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
      process.signal(SIGKILL);
      CHECK(process.wait() == -SIGKILL);
    }
    check_goes_on(folder, out, more);
  }
}

TEST_CASE("a run killed while it begins can be resumed, or begun again in the same folder") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(long_run(folder, "other", 1)).code == 0);
  const std::string configuration = fedstride::read_file(folder / "other/config.toml");
  const Words left[] = {
      {}, {"partition.json"}, {"partition.json", "rounds.jsonl"}, {"rounds.jsonl", "checkpoint.fedstride-0123456789abcdef"}};
  for (std::size_t i = 0; i < std::size(left); ++i) {
    const std::string out = "out" + std::to_string(i);
    fs::create_directory(folder / out);
    std::ofstream(folder / (out + "/config.toml")) << configuration;
    for (const auto& name : left[i]) std::ofstream(folder / (out + "/" + name)).flush();
    check_goes_on(folder, out);
  }
  fs::create_directory(folder / "fresh");
  std::ofstream(folder / "fresh/config.toml.fedstride-0123456789abcdef") << "dataset = 'c";
  CHECK(run_program(going_on(folder, "fresh", 2)).code == 2);
  CHECK(run_program(long_run(folder, "fresh", 2)).code == 0);
  check_goes_on(folder, "fresh");
}

TEST_CASE("Ctrl-C and SIGTERM end a run with exit code 130 and the command that goes on with it") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  const Words seldom{"--local-objective", "scaffold", "--scaffold-option", "one", "--checkpoint-every", "1000"};
  for (const int number : {SIGINT, SIGTERM}) {
    CAPTURE(number);
    const Words more = number == SIGINT ? Words{} : seldom;
    const std::string out = "out" + std::to_string(number);
    const TemporaryFolder output;
    const Process process(long_run(folder, out, 1'000'000, more), output);
    REQUIRE(reaches(folder, out, 2));
    process.signal(number);
    CHECK(process.wait() == 130);
    CHECK(names(process.err(), {"fedstride run --resume " + (folder / out)}));
    const auto summary = Json::parse(fedstride::read_file(folder / (out + "/summary.json")));
    CHECK(summary["finished"] == false);
    CHECK(summary["rounds"] == finished_rounds(folder, out));
    if (number == SIGTERM) {  // a round that is given up takes no other with it
      const Outcome same = run_program(going_on(folder, out, summary["rounds"]));
      CHECK(same.code == 0);
      CHECK(finished_rounds(folder, out) == summary["rounds"]);
    }
    check_goes_on(folder, out, more);
  }
}

TEST_CASE("a second process on one folder is refused while the first one runs, and does it no harm") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  const TemporaryFolder output;
  const Process process(long_run(folder, "out"), output);
  REQUIRE(reaches(folder, "out", 1));
  const Outcome second = run_program(going_on(folder, "out", 1'000'000));
  CHECK(second.code == 4);
  CHECK(names(second.err, {"'" + (folder / "out") + "'"}));
  process.signal(SIGINT);
  CHECK(process.wait() == 130);
  check_goes_on(folder, "out");
}

}  // namespace fedstride::test::kill_test

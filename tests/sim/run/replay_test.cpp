// Runs repeated with one thing changed.
#include "sim/run/replay.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>

#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::replay_test {
namespace {

Replayed replayed(const TemporaryFolder& folder, const std::string& run, const std::string& out, Replay change) {
  change.run = folder / run;
  change.here["out"] = {folder / out};
  return replay(change, {});
}

// Trains like the program's own clients, but one of them returns nothing from a round on.
class SilentFleet final : public Fleet {
 public:
  SilentFleet(std::shared_ptr<Fleet> fleet, ClientId silent, std::uint32_t from)
      : fleet_(std::move(fleet)), silent_(silent), from_(from) {}
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort)
      if (client != silent_ || task.round < from_) fleet_->collect(task, {client}, updates);
  }
  void end_round(std::uint32_t round) override { fleet_->end_round(round); }
  void checkpointed(std::uint32_t round) override { fleet_->checkpointed(round); }

 private:
  std::shared_ptr<Fleet> fleet_;
  ClientId silent_;
  std::uint32_t from_;
};

// Settings whose runs differ in what a client, the server and the fleet remember between rounds.
const std::string kRemembering[] = {
    "",  // clients keep adadp's rate
    "optimizer = 'sgd'\nlearning-rate = 0.1\nserver-optimizer = 'adam'\ncohort = 'fixed'\ncohort-size = 2\n",
    "optimizer = 'sgd'\nlearning-rate = 0.1\nlocal-objective = 'scaffold'\n",
    "optimizer = 'sgd'\nlearning-rate = 0.1\ncompress-up = 'top-k'\nerror-feedback = 'ef'\n",
    "optimizer = 'sgd'\nlearning-rate = 0.1\naggregation = 'median'\n",
};

}  // namespace

TEST_CASE("clients left out are read, written and refused by name") {
  for (const std::string text : {"3", "3,7@11", "0@2,1"}) CHECK(LeaveOut::read(text).text() == text);
  CHECK(LeaveOut::read(" 3 , 7@1 ").text() == "3,7");
  CHECK(LeaveOut::read("7@11").has(7, 11));
  CHECK_FALSE(LeaveOut::read("7@11").has(7, 10));
  CHECK_FALSE(LeaveOut::read("7@11").has(6, 12));
  for (const std::string bad : {"x", "3,", "3@0", "3@", "-1", "3@1@2", "3,3@4", "4294967296"})
    CHECK_USAGE_ERROR(LeaveOut::read(bad), "leave-out", "'" + bad + "'");
  const TemporaryFolder folder;
  write_data(folder);
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "a", "leave-out = '3'\n")), "leave-out", "'3'", "clients 3");
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "a", "leave-out = '1@7'\n")), "leave-out", "'1@7'", "rounds 6");
}

TEST_CASE("a replay without a change, or without a client that is never asked, has the run's models") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string& more : kRemembering) {
    CAPTURE(more);
    std::filesystem::remove_all(folder / "run");
    start(settings_for(folder, "run", more + "keep-checkpoints = 2\n"));
    for (const std::uint32_t from : {1U, 2U, 3U, 6U}) {
      CAPTURE(from);
      std::filesystem::remove_all(folder / "again");
      const Replayed again = replayed(folder, "run", "again", {.from = from});
      CHECK(again.parted == 0);
      CHECK(again.compared == 6);
      CHECK(again.repeated == (from - 1) / 2 * 2);
      CHECK(hashes(folder / "again") == hashes(folder / "run"));
      CHECK(resume(folder / "again", {{"rounds", {std::int64_t{7}}}}).rounds == 7);
    }
  }
  start(settings_for(folder, "traced", "clients = 4\ncohort = 'fixed'\ncohort-size = 1\nrounds = 3\nseed = 3\n"));
  std::vector<bool> asked(4);
  for (const Json& line : lines(folder / "traced/rounds.jsonl"))
    for (const Json& client : line["clients"]) asked[client["client"].get<std::size_t>()] = true;
  const auto never = static_cast<ClientId>(std::ranges::find(asked, false) - asked.begin());
  REQUIRE(never < 4);
  CHECK(replayed(folder, "traced", "traced-again", {.without = {never}}).parted == 0);
}

TEST_CASE("without a client, a replay is the run in which that client returns nothing") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string& more : kRemembering) {
    CAPTURE(more);
    for (const char* name : {"run", "silent", "without", "set"}) std::filesystem::remove_all(folder / name);
    start(settings_for(folder, "run", more + "keep-checkpoints = 2\n"));
    for (const std::uint32_t from : {1U, 4U}) {
      CAPTURE(from);
      for (const char* name : {"silent", "without", "set"}) std::filesystem::remove_all(folder / name);
      const FleetMaker silent{
          [&](const FleetTask& task) { return std::make_shared<SilentFleet>(in_process_fleet(task), 1, from); }};
      const Settings settings = settings_for(folder, "silent", more);
      run(resolve(settings), settings, {}, silent);
      const Replayed without = replayed(folder, "run", "without", {.from = from, .without = {1}});
      CHECK(without.parted >= from);
      CHECK(hashes(folder / "without") == hashes(folder / "silent"));
      // The same as a run with this setting from its beginning, and as the setting changed in the middle.
      CHECK(hashes(folder / "without") != hashes(folder / "run"));
      CHECK(setting_text(read_settings(folder / "without/config.toml"), "leave-out") == (from > 1 ? "1@4" : "1"));
      replayed(folder, "run", "set", {.from = from, .set = {{"leave-out", {std::string("1")}}}});
      CHECK(hashes(folder / "set") == hashes(folder / "silent"));
    }
  }
}

TEST_CASE("a setting changed in the middle leaves what came before, with and without a checkpoint of that round") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "kept", "keep-checkpoints = 3\n"));
  start(settings_for(folder, "bare"));
  const Settings longer{{"local-epochs", {std::string("2"), true}}};
  for (const char* run : {"kept", "bare"})
    CHECK(replayed(folder, run, std::string(run) + "-changed", {.from = 4, .set = longer}).parted == 4);
  CHECK(hashes(folder / "kept-changed") == hashes(folder / "bare-changed"));
  const Json told = Json::parse(read_file(folder / "kept-changed/replay.json"));
  CHECK(told["from"] == 4);
  CHECK(told["set"]["local-epochs"] == "2");
  for (const auto& [key, value, what] : {std::tuple("seed", "4", "draws"), std::tuple("clients", "4", "who holds which rows"),
                                         std::tuple("model", "dense classes", "the model")})
    CHECK_USAGE_ERROR(replayed(folder, "kept", "x", {.set = {{key, {std::string(value), true}}}}), key, what);
  CHECK_USAGE_ERROR(replayed(folder, "kept", "x", {.set = {{"threads", {std::int64_t{1}}}}}), "threads", "--threads");
  CHECK_USAGE_ERROR(replayed(folder, "kept", "x", {.from = 8}), "--from", "8", "from 1 to 7");
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

TEST_CASE("no form of a replay repeats the noise of protected rows") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string noisy = "dp = 'example'\nnoise-multiplier = 1.0\nbatch = 20\n";
  start(settings_for(folder, "private", noisy));
  start(settings_for(folder, "open"));
  const Settings seven{{"seed", {std::string("7"), true}}};
  const Settings protect{{"dp", {std::string("example"), true}}, {"noise-multiplier", {std::string("1"), true}}};
  CHECK_USAGE_ERROR(replayed(folder, "private", "x", {}), "dp", "'example'", "noise");
  CHECK_USAGE_ERROR(replayed(folder, "private", "x", {.without = {1}}), "dp", "'example'", "--leave-out");
  CHECK_USAGE_ERROR(replayed(folder, "private", "x", {.set = seven}), "dp", "'example'");
  CHECK_USAGE_ERROR(replayed(folder, "open", "x", {.set = protect}), "dp", "'example'");
  CHECK_USAGE_ERROR(absences(folder / "private", 1, {}, nullptr), "dp", "'example'");
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "x", noisy + "keep-checkpoints = 1\n")), "keep-checkpoints", "dp");
  // A run of its own without a client draws its own noise: the first client's lots differ, though its rows are the same.
  const auto first = [&](const std::string& out, const std::string& more) {
    Setup setup = prepare(resolve(settings_for(folder, out, noisy + more)));
    use_secrets(setup, {});
    return source_of(setup).at({.purpose = Purpose::noise, .round = 1, .client = 0}).below(1U << 30);
  };
  CHECK(first("x", "") == first("y", ""));
  CHECK(first("x", "") != first("x", "leave-out = '2'\n"));
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

TEST_CASE("of a round's clients, a poisoned one is first in the list, in each of twenty federations") {
  const TemporaryFolder folder;
  write_data(folder);
  for (int seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::string name = "run" + std::to_string(seed);
    const Settings settings = settings_for(folder, name,
                                           "clients = 6\npartition = 'iid'\noptimizer = 'sgd'\nlearning-rate = 0.1\nrounds = 4\n"
                                           "attack = 'sign-flip'\nattackers = 1\nkeep-checkpoints = 2\nseed = " +
                                               std::to_string(seed) + "\n");
    start(settings);
    const Absences found = absences(folder / name, 4, {}, nullptr);
    REQUIRE(found.clients.size() == 6);
    const Setup setup = prepare(resolve(settings));
    CHECK(setup.training.attack.has(found.clients.front().client));
    CHECK(found.clients.front().test.loss < found.test.loss);
    if (seed > 2) continue;
    // Each row is the run without that client in that round.
    for (const Absence& one : found.clients) {
      std::filesystem::remove_all(folder / "without");
      const Replayed without = replayed(folder, name, "without", {.from = 4, .without = {one.client}});
      CHECK(without.summary.test.loss == one.test.loss);
      CHECK(one.distance > 0);
    }
  }
}

TEST_CASE("a replay refuses a folder that is no run, other data, and an altered history") {
  const TemporaryFolder folder;
  write_data(folder);
  CHECK_USAGE_ERROR(replayed(folder, "none", "x", {}), "none", "config.toml");
  start(settings_for(folder, "run", "keep-checkpoints = 2\n"));
  CHECK_USAGE_ERROR(absences(folder / "run", 7, {}, nullptr), "7", "from 1 to 6");
  const std::string rounds = read_file(folder / "run/rounds.jsonl");
  const std::string hash = hashes(folder / "run").front();
  std::string altered = rounds;
  altered.replace(altered.find(hash), 8, "00000000");
  write_file(folder / "run/rounds.jsonl", altered);
  CHECK_FAILURE(replayed(folder, "run", "x", {.from = 4, .without = {1}}), "rounds.jsonl", "altered");
  CHECK_FAILURE(replayed(folder, "run", "y", {.from = 2, .without = {1}}), "round 1", "other data");
  write_file(folder / "run/rounds.jsonl", rounds);
  std::filesystem::remove(folder / "train.csv");
  std::filesystem::copy_file(folder / "test.csv", folder / "train.csv");
  CHECK_FAILURE(absences(folder / "run", 4, {}, nullptr), "checkpoints/2", "other data");
}

}  // namespace fedstride::test::replay_test

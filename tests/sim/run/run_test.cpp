#include "sim/run/run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "data/split.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::run_test {

TEST_CASE("a run learns, and leaves all documented files in its folder") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(
      folder, "a", "rounds = 12\noptimizer = 'sgd'\nlearning-rate = 0.1\nevaluate-every = 5\nvalidation-fraction = 0.1"));
  CHECK(summary.rounds == 12);
  CHECK(summary.test.accuracy > 0.8);
  const std::string run = folder / "a";
  const auto rounds = lines(run + "/rounds.jsonl");
  REQUIRE(rounds.size() == 12);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    CHECK(rounds[i]["round"] == i + 1);
    const bool evaluated = (i + 1) % 5 == 0 || i + 1 == 12;
    CHECK(rounds[i]["test_accuracy"].is_number() == evaluated);
    CHECK(rounds[i]["validation_accuracy"].is_number() == evaluated);
    CHECK(rounds[i]["examples"] == 162);  // 180 less a tenth
    CHECK(rounds[i]["clients"].size() == 3);
    for (const auto& client : rounds[i]["clients"])
      for (const char* key : {"examples", "loss", "learning_rate", "steps", "accepted", "rejected"})
        CHECK(client[key].is_number());
  }
  CHECK(rounds.back()["test_accuracy"] == doctest::Approx(summary.test.accuracy));
  const Json final = Json::parse(read_file(run + "/summary.json"));
  CHECK(final["test_accuracy"] == rounds.back()["test_accuracy"]);
  CHECK(final["model_hash"] == rounds.back()["model_hash"]);
  CHECK(final["examples"] == 12 * 162);
  for (const char* key : {"peak_memory_bytes", "version", "commit", "compiler", "instruction_set", "data_hash", "partition_hash"})
    CHECK(final.contains(key));
  CHECK(Json::parse(read_file(run + "/partition.json"))["clients"].size() == 3);
  const auto evaluated = evaluate_file(run, "", {.data = folder.path().string()}, false, 1);
  CHECK(evaluated.evaluation.accuracy == doctest::Approx(summary.test.accuracy));
}

TEST_CASE("the run's own configuration file repeats it, bit for bit, on any number of threads") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "partition = 'dirichlet'\nalpha = 1.0"));
  Settings settings = read_settings(folder / "a/config.toml");
  for (const int threads : {1, 2, 8}) {
    const std::string out = folder / ("b" + std::to_string(threads));
    settings["out"] = {out, true};
    settings["threads"] = {std::to_string(threads), true};
    start(settings);
    CHECK(hashes(out) == hashes(folder / "a"));
  }
  settings["seed"] = {"2", true};
  settings["out"] = {folder / "c", true};
  start(settings);
  CHECK(hashes(folder / "c") != hashes(folder / "a"));
}

TEST_CASE("rounds are evaluated on the same drawn rows, the end on all, and the model does not depend on it") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string sgd = "optimizer = 'sgd'\nlearning-rate = 0.1\nrounds = 4\n";
  start(settings_for(folder, "all", sgd));
  std::vector<std::uint64_t> examples;
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) { examples.push_back(record.test->examples); };
  const RunSummary drawn = start(settings_for(folder, "drawn", sgd + "evaluate-rows = 15\n"), observer);
  CHECK(examples == std::vector<std::uint64_t>(4, 15));
  CHECK(drawn.test.examples == 60);
  CHECK(hashes(folder / "drawn") == hashes(folder / "all"));
  const Json all = Json::parse(read_file(folder / "all/summary.json"));
  const Json of_drawn = Json::parse(read_file(folder / "drawn/summary.json"));
  CHECK(of_drawn["test_accuracy"] == all["test_accuracy"]);
  CHECK(of_drawn["evaluated_rows"] == 60);
  // Accuracies on 15 rows are multiples of 1/15; only the seed decides which rows.
  const Setup setup = prepare(resolve(settings_for(folder, "x", sgd + "evaluate-rows = 15\n")));
  CHECK(setup.data.evaluation_rows == draw_evaluation_rows(60, 15, 1));
  const auto rounds = lines(folder / "drawn/rounds.jsonl");
  for (const Json& round : rounds) {
    const double fifteenths = round["test_accuracy"].get<double>() * 15;
    CHECK(fifteenths == doctest::Approx(std::round(fifteenths)));
    CHECK(round["evaluation_seconds"].get<double>() > 0);
  }
  CHECK(read_file(folder / "drawn/config.toml").find("evaluate-rows = 15\n") != std::string::npos);
  // A shorter run that is resumed has the lines of the long one.
  Settings shorter = settings_for(folder, "short", sgd + "evaluate-rows = 15\n");
  shorter["rounds"] = {"2", true};
  start(shorter);
  resume(folder / "short", {{"rounds", {"4", true}}});
  const auto again = lines(folder / "short/rounds.jsonl");
  REQUIRE(again.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(again[i]["test_loss"] == rounds[i]["test_loss"]);
  const Json total = Json::parse(read_file(folder / "short/summary.json"));
  double evaluation = 0;
  for (const Json& round : again) evaluation += round["evaluation_seconds"].get<double>();
  CHECK(total["evaluation_seconds"].get<double>() > evaluation);  // and the one at the end
}

TEST_CASE("rounds in which every step was undone are counted, over interruptions too, and the summary gives advice") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string idle = "optimizer = 'adadp'\ntolerance = 1e-12\nlearning-rate = 1000.0\nrounds = 2\n";
  std::size_t seen = 0;
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) { seen += record.is_idle() ? 1 : 0; };
  CHECK(start(settings_for(folder, "a", idle), observer).idle_rounds == 2);
  CHECK(seen == 2);
  CHECK(resume(folder / "a", {{"rounds", {"3", true}}}).idle_rounds == 3);
  for (const Json& round : lines(folder / "a/rounds.jsonl")) CHECK(round["no_step_kept"] == true);
  const Json summary = Json::parse(read_file(folder / "a/summary.json"));
  CHECK(summary["idle_rounds"] == 3);
  CHECK(names(summary["notes"].back().get<std::string>(), {"3", "--learning-rate", "1000", "--optimizer sgd"}));
  start(settings_for(folder, "b", "optimizer = 'sgd'\nlearning-rate = 0.1\n"));
  CHECK(Json::parse(read_file(folder / "b/summary.json"))["idle_rounds"] == 0);
  CHECK(!lines(folder / "b/rounds.jsonl")[0].contains("no_step_kept"));
  // A published file has neither: the list of what may be published (docs/privacy.md) lacks them.
  const auto published = [&](const std::string& out, const std::string& privacy) {
    start(settings_for(folder, out, idle + "publishable = true\nrandomness = 'secret'\n" + privacy));
    return std::pair{Json::parse(read_file(folder / (out + "/summary.json"))), lines(folder / (out + "/rounds.jsonl"))[0]};
  };
  const auto [client, client_round] = published("client", "dp = 'client'\nnoise-multiplier = 1.0\ntoo-long = 'undo'\n");
  CHECK(!client.contains("idle_rounds"));
  CHECK(client.dump().find("--learning-rate") == std::string::npos);
  CHECK(!client_round.contains("no_step_kept"));
  const auto [example, example_round] = published("example", "dp = 'example'\nnoise-multiplier = 1.0\ntoo-long = 'undo'\n");
  CHECK(!example.contains("idle_rounds"));
  CHECK(!example_round.contains("no_step_kept"));
  start(settings_for(folder, "open", idle + "dp = 'client'\nnoise-multiplier = 1.0\ntoo-long = 'undo'\n"));
  const Json open = Json::parse(read_file(folder / "open/summary.json"));
  CHECK(open["idle_rounds"] == 2);
  CHECK(open["not_covered"].dump().find("idle_rounds") != std::string::npos);
}

TEST_CASE("config.toml can be repeated, and a run resumed, from any folder, whatever the paths were") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  Settings settings = settings_for(folder, "a", "partition = 'iid'\noptimizer = 'sgd'\nlearning-rate = 0.1\n");
  settings["data"] = {".", true};
  start(settings);
  settings["partition"] = {"file", true};
  settings["partition-file"] = {"a/partition.json", true};
  settings["init"] = {"a/model.safetensors", true};
  settings["dp"] = {"example", true};
  settings["noise-multiplier"] = {"1.5", true};
  settings["out"] = {"b", true};
  start(settings);
  settings["rounds"] = {"3", true};
  settings["out"] = {"c", true};
  start(settings);
  std::filesystem::create_directory("elsewhere");
  std::filesystem::current_path(folder.path() / "elsewhere");
  Settings repeated = read_settings("../b/config.toml");
  repeated["out"] = {"again", true};
  start(repeated);
  resume("../c", {{"rounds", {"6", true}}});
  const auto evaluated = evaluate_file("../b", "", {}, false, 1);
  std::filesystem::current_path(before);
  CHECK(evaluated.evaluation.examples == 60);
  CHECK(hashes(folder / "elsewhere/again") == hashes(folder / "b"));
  CHECK(hashes(folder / "c") == hashes(folder / "b"));
  CHECK(read_file(folder / "elsewhere/again/config.toml") == read_file(folder / "b/config.toml"));
}

TEST_CASE("the partition's manifest gives the same run as the partition") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "partition = 'iid'"));
  start(settings_for(folder, "b", "partition = 'file'\npartition-file = '" + (folder / "a/partition.json") + "'"));
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
}

TEST_CASE("a stopped run is resumed, also to more rounds, and ends with the model of an uninterrupted one") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::map<std::string, std::string> kinds{{"adadp", "client-state = 'keep'\noptimizer = 'adadp'\n"},
                                                 {"adam", "client-state = 'keep'\noptimizer = 'adam'\n"},
                                                 {"adambc",
                                                  "client-state = 'keep'\noptimizer = 'adambc'\n"
                                                  "dp = 'example'\nnoise-multiplier = 1\nclip = 1\n"},
                                                 {"momentum", "optimizer = 'sgd'\nserver-optimizer = 'momentum'\n"},
                                                 {"yogi", "optimizer = 'sgd'\nserver-optimizer = 'yogi'\n"},
                                                 {"fedexp", "optimizer = 'sgd'\nserver-optimizer = 'fedexp'\n"},
                                                 {"pooled", "optimizer = 'pooled'\nhorizon = 6\n"},
                                                 {"restore", "optimizer = 'pooled'\nhorizon = 6\nserver-optimizer = 'restore'\n"},
                                                 {"private",
                                                  "optimizer = 'pooled'\nhorizon = 6\nserver-optimizer = 'restore'\n"
                                                  "dp = 'client'\nnoise-multiplier = 1\nclip = 1\ndelta = 1e-5\n"},
                                                 {"delta-sgd", "client-state = 'keep'\noptimizer = 'delta-sgd'\n"},
                                                 {"fedsps", "client-state = 'keep'\noptimizer = 'fedsps'\n"},
                                                 {"dog", "optimizer = 'dog'\n"},
                                                 {"prodigy", "optimizer = 'prodigy'\n"},
                                                 {"schedule-free", "client-state = 'keep'\noptimizer = 'schedule-free'\n"}};
  for (const auto& [optimizer, settings] : kinds) {
    const std::string more = "batch = 5\n" + settings;
    start(settings_for(folder, optimizer + "-whole", more));
    std::atomic<bool> stop{false};
    RunObserver observer;
    observer.stop = &stop;
    observer.round = [&](const RoundRecord& record) { stop = record.round == 2; };
    const RunSummary broken = start(settings_for(folder, optimizer + "-broken", more + "rounds = 4"), observer);
    CHECK(broken.interrupted);
    CHECK(broken.rounds == 2);
    const RunSummary whole = resume(folder / (optimizer + "-broken"), {{"rounds", {"6", true}}, {"threads", {"1", true}}});
    CHECK(whole.rounds == 6);
    CHECK(hashes(folder / (optimizer + "-broken")) == hashes(folder / (optimizer + "-whole")));
    CHECK(read_file(folder / (optimizer + "-broken/model.safetensors")) ==
          read_file(folder / (optimizer + "-whole/model.safetensors")));
  }
}

TEST_CASE("a run resumed beyond its horizon keeps the tolerance it ended with, and any number of threads gives the same") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "batch = 5\noptimizer = 'pooled'\nrounds = 3\nhorizon = 3"));
  start(settings_for(folder, "b", "batch = 5\noptimizer = 'pooled'\nrounds = 6\nhorizon = 3\nthreads = 1"));
  resume(folder / "a", {{"rounds", {"6", true}}});
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
}

TEST_CASE(
    "tolerance auto: a stopped run is resumed with the same bits, on any number of threads, also if clients are protected") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string more : {"", "dp = 'client'\nnoise-multiplier = 1\nclip = 1\ndelta = 1e-5\n"}) {
    CAPTURE(more);
    const std::string kind = more.empty() ? "plain" : "private";
    const std::string settings =
        "batch = 5\noptimizer = 'adadp'\ntolerance = 'auto'\ntolerance-schedule = 'linear'\nrounds = 4\n" + more;
    start(settings_for(folder, kind + "-whole", settings));
    std::atomic<bool> stop{false};
    RunObserver observer;
    observer.stop = &stop;
    observer.round = [&](const RoundRecord& record) { stop = record.round == 2; };
    CHECK(start(settings_for(folder, kind + "-broken", settings), observer).interrupted);
    resume(folder / (kind + "-broken"), {{"threads", {"1", true}}});
    CHECK(hashes(folder / (kind + "-broken")) == hashes(folder / (kind + "-whole")));
  }
  start(settings_for(folder, "fixed", "batch = 5\noptimizer = 'adadp'\nrounds = 4"));
  CHECK(hashes(folder / "fixed") != hashes(folder / "plain-whole"));
}

TEST_CASE("an optimizer that pools is refused if clients are protected, and kappa 0 is refused") {
  const test::TemporaryFolder folder;
  write_data(folder);
  CHECK_USAGE_ERROR(
      start(settings_for(folder, "a", "optimizer = 'pooled'\ndp = 'client'\nnoise-multiplier = 1\nclient-noise = 'local'")),
      "optimizer", "pooled", "client-noise 'local'", "client-noise central, discrete");
  CHECK_USAGE_ERROR(start(settings_for(folder, "a", "optimizer = 'pooled'\nkappa = 0")), "kappa", "0");
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
}

TEST_CASE("a server optimizer that measures individual clients is refused if they are protected") {
  const test::TemporaryFolder folder;
  write_data(folder);
  CHECK_USAGE_ERROR(
      start(settings_for(
          folder, "a",
          "optimizer = 'sgd'\nserver-optimizer = 'fedexp'\ndp = 'client'\nclient-noise = 'local'\nnoise-multiplier = 1")),
      "server-optimizer", "fedexp", "client-noise 'local'");
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
}

TEST_CASE("momentum at the server is averaging if it is 0, and differs otherwise") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string sgd = "optimizer = 'sgd'\nserver-learning-rate = 0.5\n";
  start(settings_for(folder, "average", sgd));
  start(settings_for(folder, "none", sgd + "server-optimizer = 'momentum'\nserver-momentum = 0"));
  start(settings_for(folder, "some", sgd + "server-optimizer = 'momentum'\nserver-momentum = 0.5"));
  CHECK(hashes(folder / "none") == hashes(folder / "average"));
  CHECK(hashes(folder / "some").front() == hashes(folder / "average").front());  // v begins at 0
  CHECK(hashes(folder / "some")[1] != hashes(folder / "average")[1]);
}

TEST_CASE("rounds.jsonl is truncated to the checkpoint, and refused if it was altered before that") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  const std::string path = folder / "a/rounds.jsonl";
  const std::string good = read_file(path);
  write_file(path, good + "{\"round\": 7, \"half");
  resume(folder / "a", {});
  CHECK(read_file(path) == good);
  std::string altered = good;
  altered[altered.find("\"examples\":") + 11] = '7';
  write_file(path, altered);
  CHECK_FAILURE(resume(folder / "a", {}), path);
  write_file(path, good.substr(0, good.size() / 2));
  CHECK_FAILURE(resume(folder / "a", {}), path);
}

TEST_CASE("a damaged checkpoint, other data and other settings are detected and refused") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  CHECK_USAGE_ERROR(resume(folder / "a", {{"seed", {"3", true}}}), "seed", "rounds", "threads");
  CHECK_USAGE_ERROR(resume(folder / "a", {{"rounds", {"3", true}}}), "rounds", "3", folder / "a", "6");
  const std::string config = read_file(folder / "a/config.toml");
  std::string other = config;
  other.replace(other.find("seed = 1"), 8, "seed = 2");
  write_file(folder / "a/config.toml", other);
  CHECK_FAILURE(resume(folder / "a", {}), folder / "a", "settings", "data");
  write_file(folder / "a/config.toml", config);
  std::string checkpoint = read_file(folder / "a/checkpoint");
  checkpoint[checkpoint.size() / 2] = static_cast<char>(checkpoint[checkpoint.size() / 2] + 1);
  write_file(folder / "a/checkpoint", checkpoint);
  CHECK_FAILURE(resume(folder / "a", {}), folder / "a/checkpoint");
  CHECK_USAGE_ERROR(resume(folder / "nothing", {}), "resume", folder / "nothing", "config.toml");
}

TEST_CASE("a folder that is not empty is refused and left as it was; so is one in use by another process") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  const std::string before = read_file(folder / "a/rounds.jsonl");
  CHECK_USAGE_ERROR(start(settings_for(folder, "a")), "out", folder / "a", "--resume");
  CHECK(read_file(folder / "a/rounds.jsonl") == before);
  RunObserver observer;
  bool refused = false;
  observer.round = [&](const RoundRecord& record) {
    if (record.round != 1) return;
    try {
      resume(folder / "b", {});
    } catch (const FolderInUse&) {
      refused = true;
    }
  };
  start(settings_for(folder, "b"), observer);
  CHECK(refused);
}

namespace {

// Every step multiplies the weights, so that they overflow in the first round.
const std::string kDiverging =
    "optimizer = 'heavy-ball'\nmomentum = 0.99\nlearning-rate = 1000000.0\nbatch = 1\nlocal-epochs = 20\n"
    "model = 'dense 8 | dense 8 | dense classes'\n";

}  // namespace

TEST_CASE("a round in which all clients fail ends the run, which can be resumed") {
  const test::TemporaryFolder folder;
  write_data(folder);
  CHECK_FAILURE(start(settings_for(folder, "a", kDiverging)), "3 of 3", "round 1", "client 0", folder / "a", "accept-failures");
  Json summary = parse_json(read_file(folder / "a/summary.json"));
  CHECK(summary["finished"] == false);
  CHECK(summary["rounds"] == 0);
  CHECK(read_file(folder / "a/rounds.jsonl").empty());
  CHECK_FAILURE(resume(folder / "a", {}), "3 of 3", "round 1");  // the same again
  const RunSummary after = resume(folder / "a", {{"accept-failures", {std::string("all"), true}}});
  CHECK(after.rounds == 6);
  start(settings_for(folder, "b", kDiverging + "accept-failures = 'all'\n"));
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
}

TEST_CASE("clients that diverge are named and counted in the round and in a note, if a run goes on") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a", kDiverging + "accept-failures = 'all'\n"));
  CHECK(summary.rounds == 6);
  CHECK(summary.failures == 18);
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds[0]["failed_clients"] == 3);
  CHECK(std::string(rounds[0]["clients"][1]["failure"]).find("diverged") != std::string::npos);
  CHECK(rounds[0]["model_hash"] == rounds[5]["model_hash"]);
  const Json notes = parse_json(read_file(folder / "a/summary.json"))["notes"];
  const auto about = [](const Json& note) {
    return names(note.get<std::string>(), {"6 of 6 rounds", "18 updates", "diverged", "(18)"});
  };
  CHECK(std::ranges::count_if(notes, about) == 1);
}

TEST_CASE("the note on clients left out counts each reason, the most frequent first, and says if only this session is meant") {
  RunSummary summary{.rounds = 9, .failures = 10, .session_rounds = 4, .failed_rounds = 3};
  summary.reasons = {{"a", 1}, {"b", 2}, {"c", 4}, {"d", 2}, {"e", 1}};
  CHECK(failures_text(summary) ==
        "in 3 of 4 rounds of this session clients were left out, 10 updates in all: c (4); b (2); d (2); and 2 other reasons");
  summary = {.rounds = 4, .failures = 1, .session_rounds = 4, .failed_rounds = 1, .reasons = {{"a", 1}}};
  CHECK(failures_text(summary) == "in 1 of 4 rounds clients were left out, 1 update in all: a (1)");
}

TEST_CASE("a note explains SCAFFOLD's control variates under an aggregation that compares updates") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const auto notes = [&](const std::string& more, const std::string& objective = "scaffold") {
    return prepare(resolve(settings_for(folder, "a", "local-objective = '" + objective + "'\noptimizer = 'sgd'\n" + more))).notes;
  };
  const auto is_told = [](const std::string& note) {
    return names(note, {"local-objective 'scaffold'", "aggregation 'median'"});
  };
  CHECK(std::ranges::count_if(notes("aggregation = 'median'"), is_told) == 1);
  CHECK(std::ranges::none_of(notes("aggregation = 'mean'"), is_told));
  CHECK(std::ranges::count_if(notes("aggregation = 'median'\nweights = 'equal'\nscaffold-controls = 'equal'"), is_told) == 1);
  CHECK(std::ranges::none_of(notes("aggregation = 'median'\n", "plain"), is_told));
  CHECK_USAGE_ERROR(notes("aggregation = 'median'\nscaffold-controls = 'equal'"), "scaffold-controls", "equal",
                    "aggregation 'median'", "weights equal", "aggregation mean", "scaffold-controls weighted");
}

TEST_CASE("init takes matching tensors from a file and notes it, and freeze keeps layers unchanged") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  Setup setup = prepare(resolve(settings_for(folder, "b", "init = '" + (folder / "a/model.safetensors") + "'")));
  CHECK(std::ranges::any_of(setup.notes, [](const std::string& note) {
    return names(note, {"init", "fc1.weight, fc1.bias, fc2.weight, fc2.bias"});
  }));
  start(settings_for(folder, "b", "freeze = 'fc1'\ninit = '" + (folder / "a/model.safetensors") + "'"));
  const auto fc1 = [&](const std::string& run) {
    const auto bytes = read_file(folder / (run + "/model.safetensors"));
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const Json info = Json::parse(bytes.substr(8, header));
    const auto range = info["fc1.weight"]["data_offsets"];
    return bytes.substr(8 + header + std::size_t(range[0]), std::size_t(range[1]) - std::size_t(range[0]));
  };
  CHECK(fc1("a") == fc1("b"));
  CHECK(hashes(folder / "b").back() != hashes(folder / "a").back());
}

}  // namespace fedstride::test::run_test

#include "run/run.hpp"
#include "tests/support/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/split.hpp"
#include "run/evaluate.hpp"
#include "tests/run/csv_runs.hpp"

namespace fedstride::test::run_test {

TEST_CASE("a run learns, and leaves everything it promises in its folder") {
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
  const auto evaluated = evaluate_file(run, "", {.data_dir = folder.path().string()}, false, 1);
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
  // Two models told apart on 15 rows: multiples of 1/15, from rows that the seed alone decides.
  const Setup setup = prepare(resolve(settings_for(folder, "x", sgd + "evaluate-rows = 15\n")));
  CHECK(setup.evaluation_rows == draw_evaluation_rows(60, 15, 1));
  const auto rounds = lines(folder / "drawn/rounds.jsonl");
  for (const Json& round : rounds) {
    const double fifteenths = round["test_accuracy"].get<double>() * 15;
    CHECK(fifteenths == doctest::Approx(std::round(fifteenths)));
    CHECK(round["evaluation_seconds"].get<double>() > 0);
  }
  CHECK(read_file(folder / "drawn/config.toml").find("evaluate-rows = 15\n") != std::string::npos);
  // A shorter run that goes on has the lines of the long one.
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

TEST_CASE("rounds in which every step was undone are counted, over interruptions too, and the summary says what to do") {
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
  CHECK(summary["notes"].back() ==
        "in 3 of 3 rounds no step of anybody was kept; begin with a smaller --learning-rate than 1000, or take an optimizer "
        "that undoes no step (--optimizer sgd)");
  start(settings_for(folder, "b", "optimizer = 'sgd'\nlearning-rate = 0.1\n"));
  CHECK(Json::parse(read_file(folder / "b/summary.json"))["idle_rounds"] == 0);
  CHECK(!lines(folder / "b/rounds.jsonl")[0].contains("no_step_kept"));
  // A published file has neither: the list of what may be published (docs/privacy.md) lacks them.
  const auto published = [&](const std::string& out, const std::string& privacy) {
    start(settings_for(folder, out, idle + "publishable = true\nrandomness = 'secret'\n" + privacy));
    return std::pair{Json::parse(read_file(folder / (out + "/summary.json"))), lines(folder / (out + "/rounds.jsonl"))[0]};
  };
  const auto [client, client_round] = published("client", "dp = 'client'\nnoise-multiplier = 1.0\n");
  CHECK(!client.contains("idle_rounds"));
  CHECK(client.dump().find("no step") == std::string::npos);
  CHECK(!client_round.contains("no_step_kept"));
  const auto [example, example_round] = published("example", "dp = 'example'\nnoise-multiplier = 1.0\ntoo-long = 'undo'\n");
  CHECK(!example.contains("idle_rounds"));
  CHECK(!example_round.contains("no_step_kept"));
  start(settings_for(folder, "open", idle + "dp = 'client'\nnoise-multiplier = 1.0\n"));
  const Json open = Json::parse(read_file(folder / "open/summary.json"));
  CHECK(open["idle_rounds"] == 2);
  CHECK(open["not_covered"].dump().find("idle_rounds") != std::string::npos);
}

TEST_CASE("config.toml repeats, and a run goes on, from any folder, whatever the paths were") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  Settings settings = settings_for(folder, "a", "partition = 'iid'\noptimizer = 'sgd'\nlearning-rate = 0.1\n");
  settings["data-dir"] = {".", true};
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

TEST_CASE("a stopped run goes on, also to more rounds, and ends with the model of an unbroken one") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::map<std::string, std::string> kinds{{"adadp", "client-state = 'keep'\noptimizer = 'adadp'\n"},
                                                 {"adam", "client-state = 'keep'\noptimizer = 'adam'\n"},
                                                 {"momentum", "optimizer = 'sgd'\nserver-optimizer = 'momentum'\n"},
                                                 {"yogi", "optimizer = 'sgd'\nserver-optimizer = 'yogi'\n"},
                                                 {"fedexp", "optimizer = 'sgd'\nserver-optimizer = 'fedexp'\n"},
                                                 {"pooled", "optimizer = 'pooled'\nhorizon = 6\n"}};
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

TEST_CASE("a run that goes on beyond its horizon keeps the tolerance it ended with, and any number of threads gives the same") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "batch = 5\noptimizer = 'pooled'\nrounds = 3"));
  start(settings_for(folder, "b", "batch = 5\noptimizer = 'pooled'\nrounds = 6\nhorizon = 3\nthreads = 1"));
  resume(folder / "a", {{"rounds", {"6", true}}});
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
}

TEST_CASE(
    "tolerance auto: a stopped run goes on with the same bits, on any number of threads, and where clients are protected, too") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string more : {"", "dp = 'client'\nnoise-multiplier = 1\nclip = 1\ndelta = 1e-5\n"}) {
    CAPTURE(more);
    const std::string kind = more.empty() ? "plain" : "private";
    const std::string settings = "batch = 5\noptimizer = 'adadp'\ntolerance = 'auto'\ncourse = 'falling'\nrounds = 4\n" + more;
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

TEST_CASE("an optimiser that pools is refused where clients are protected, and where weights begin at 0") {
  const test::TemporaryFolder folder;
  write_data(folder);
  CHECK_THROWS_WITH_AS(start(settings_for(folder, "a", "optimizer = 'pooled'\ndp = 'client'\nnoise-multiplier = 1")),
                       doctest::Contains("only optimizers that pool nothing are valid"), Error);
  CHECK_THROWS_WITH_AS(start(settings_for(folder, "a", "optimizer = 'pooled'\nkappa = 0")), doctest::Contains("kappa is 0"),
                       Error);
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
}

TEST_CASE("a server optimiser that measures single clients is refused where they are protected") {
  const test::TemporaryFolder folder;
  write_data(folder);
  CHECK_THROWS_WITH_AS(
      start(settings_for(folder, "a", "optimizer = 'sgd'\nserver-optimizer = 'fedexp'\ndp = 'client'\nnoise-multiplier = 1")),
      doctest::Contains("server-optimizer is 'fedexp', which measures the updates of single clients"), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
}

TEST_CASE("momentum at the server is averaging without memory, and another thing with it") {
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

TEST_CASE("rounds.jsonl is cut back to the checkpoint, and refused if what the checkpoint saw was altered") {
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
  CHECK_THROWS_WITH_AS(resume(folder / "a", {}), doctest::Contains("altered"), Error);
  write_file(path, good.substr(0, good.size() / 2));
  CHECK_THROWS_AS(resume(folder / "a", {}), Error);
}

TEST_CASE("a damaged checkpoint, other data and other settings are recognised and refused") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  CHECK_THROWS_WITH_AS(resume(folder / "a", {{"seed", {"3", true}}}), doctest::Contains("seed cannot change"), Error);
  CHECK_THROWS_WITH_AS(resume(folder / "a", {{"rounds", {"3", true}}}), doctest::Contains("finished 6"), Error);
  const std::string config = read_file(folder / "a/config.toml");
  std::string other = config;
  other.replace(other.find("seed = 1"), 8, "seed = 2");
  write_file(folder / "a/config.toml", other);
  CHECK_THROWS_WITH_AS(resume(folder / "a", {}), doctest::Contains("other settings"), Error);
  write_file(folder / "a/config.toml", config);
  std::string checkpoint = read_file(folder / "a/checkpoint");
  checkpoint[checkpoint.size() / 2] = static_cast<char>(checkpoint[checkpoint.size() / 2] + 1);
  write_file(folder / "a/checkpoint", checkpoint);
  CHECK_THROWS_WITH_AS(resume(folder / "a", {}), doctest::Contains("damaged"), Error);
  CHECK_THROWS_WITH_AS(resume(folder / "nothing", {}), doctest::Contains("holds no run"), Error);
}

TEST_CASE("a folder that holds anything is refused and left as it was; so is one that another process runs in") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  const std::string before = read_file(folder / "a/rounds.jsonl");
  CHECK_THROWS_WITH_AS(start(settings_for(folder, "a")), doctest::Contains("not empty"), Error);
  CHECK(read_file(folder / "a/rounds.jsonl") == before);
  RunObserver observer;
  bool refused = false;
  observer.round = [&](const RoundRecord& record) {
    if (record.round != 1) return;
    try {
      resume(folder / "b", {});
    } catch (const Error& error) {
      refused = std::string(error.what()).find("another fedstride process") != std::string::npos;
    }
  };
  start(settings_for(folder, "b"), observer);
  CHECK(refused);
}

TEST_CASE("a client that diverges is named and counted, and the run goes on") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a",
                                                "optimizer = 'heavy-ball'\nmomentum = 0.99\nlearning-rate = 1000000.0\nbatch = "
                                                "1\nlocal-epochs = 20\nmodel = 'dense 8 | dense 8 | dense classes'"));
  CHECK(summary.rounds == 6);
  CHECK(summary.failures == 18);
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds[0]["failed_clients"] == 3);
  CHECK(std::string(rounds[0]["clients"][1]["failure"]).find("diverged") != std::string::npos);
  CHECK(rounds[0]["model_hash"] == rounds[5]["model_hash"]);
}

TEST_CASE("SCAFFOLD under an aggregation that compares updates says what becomes of its control variates") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const auto notes = [&](const std::string& more) {
    return prepare(resolve(settings_for(folder, "a", "local-objective = 'scaffold'\noptimizer = 'sgd'\n" + more))).notes;
  };
  const std::string note =
      "local-objective 'scaffold' sends control variates behind the change of the weights, and aggregation 'median' treats both "
      "as one vector: the server's control variate is no longer the mean of the clients'";
  CHECK(std::ranges::count(notes("aggregation = 'median'"), note) == 1);
  CHECK(std::ranges::count(notes("aggregation = 'mean'"), note) == 0);
  CHECK(std::ranges::count(notes("aggregation = 'median'\nweights = 'equal'\nscaffold-controls = 'equal'"), note) == 1);
  CHECK(std::ranges::count(prepare(resolve(settings_for(folder, "a", "optimizer = 'sgd'\naggregation = 'median'"))).notes,
                           note) == 0);
  CHECK_THROWS_WITH(
      notes("aggregation = 'median'\nscaffold-controls = 'equal'"),
      "scaffold-controls is 'equal', with which clients divide their control variates by their weights; aggregation "
      "'median' compares what they send: valid is scaffold-controls weighted, or weights equal");
}

TEST_CASE("init takes what fits from a file and says so, and freeze holds layers still") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a"));
  Setup setup = prepare(resolve(settings_for(folder, "b", "init = '" + (folder / "a/model.safetensors") + "'")));
  REQUIRE(setup.notes.size() >= 1);
  CHECK(setup.notes[0].find("init took fc1.weight, fc1.bias, fc2.weight, fc2.bias") != std::string::npos);
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

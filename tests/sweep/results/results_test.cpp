#include "sweep/results/results.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "sweep/cells/sweep.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::results_test {

namespace fs = std::filesystem;

namespace {

// Two rounds as a run writes them.
const std::string kRoundOne =
    R"({"round":1,"test_accuracy":null,"validation_loss":1.5,"train_loss":2.25,"examples":10,"seconds":0.5,)"
    R"("model_hash":"aa","failed_clients":1,"clients":[)"
    R"({"client":1,"rows":6,"loss":2.5,"learning_rate":0.125,"steps":4,"rejected":1,"new_number":3,"gradient_norm":3},)"
    R"({"client":0,"rows":4,"loss":null,"learning_rate":0.375,"steps":6,"rejected":2,"gradient_norm":5,"clipped_share":null,"failure":"diverged"}],)"
    R"("example_privacy":{"epsilon":0.75,"delta":1e-05},"later":{"deep":[{"round":7}]},"not_covered":["a","clients.b"]})"
    "\n";
const std::string kRoundTwo =
    R"({"round":2,"test_accuracy":0.5,"train_loss":1.25,"examples":30,"seconds":1.5,"model_hash":"bb",)"
    R"("failed_clients":0,"worst_client_accuracy":0.25,"clients":[{"client":0,"learning_rate":0.5,"steps":10,"rejected":0}]})"
    "\n";

struct Run {
  test::TemporaryFolder folder;
  explicit Run(const std::string& rounds, const std::string& summary = "") {
    fs::create_directory(folder / "run");
    write("config.toml", "dataset = 'synthetic'\n");
    write("rounds.jsonl", rounds);
    if (!summary.empty()) write("summary.json", summary);
  }
  void write(const std::string& name, const std::string& text) { write_file(folder / ("run/" + name), text); }
  CellResult read() const { return read_results(folder / "run").cells.at(0); }
};

const std::string kSummary =
    R"({"rounds":2,"finished":true,"test_accuracy":0.5,"test_loss":1.125,"examples":40,"seconds":2,"model_hash":"bb",)"
    R"("numerics_version":1,"peak_memory_bytes":1000})";

std::string error_of(const Run& run) {
  const CellResult cell = run.read();
  CHECK(cell.status == "failed");
  CHECK(cell.numbers.empty());
  CHECK(cell.rounds.empty());
  return cell.error;
}

}  // namespace

TEST_CASE("R2 is read under its own name, and tunes where no accuracy is") {
  const std::string line =
      R"({"round":1,"test_r2":-0.5,"validation_r2":0.25,"own_r2_p50":0.125,"train_loss":1,"model_hash":"aa",)"
      R"("clients":[{"client":0,"own_r2":0.125}]})"
      "\n";
  const Run run(line, R"({"rounds":1,"finished":true,"metric":"R2","test_r2":-0.5,"test_loss":1})");
  const SweepResults results = read_results(run.folder / "run");
  const CellResult& cell = results.cells.at(0);
  CHECK(cell.numbers.at("test_r2") == -0.5);
  CHECK(cell.rounds[0].numbers.at("own_r2_p50") == 0.125);
  CHECK(cell.clients[0].numbers.at("own_r2") == 0.125);
  CHECK(results.experiment.tuning.metric == "r2");
  CHECK(row_of(results.summary, cell.cell.configuration, "test_r2")->mean == -0.5);
  const Run ordinary(kRoundOne, R"({"rounds":1,"finished":true,"metric":"accuracy","test_accuracy":-0.5,"test_loss":1})");
  CHECK(read_results(ordinary.folder / "run").experiment.tuning.metric == "accuracy");
}

TEST_CASE("a line of rounds.jsonl gives the round's numbers and its clients'") {
  const CellResult cell = Run(kRoundOne + kRoundTwo, kSummary).read();
  CHECK(cell.error == "");
  CHECK(cell.status == "finished");
  REQUIRE(cell.rounds.size() == 2);
  CHECK(cell.rounds[0].model_hash == "aa");
  CHECK(cell.rounds[0].numbers == Numbers{{"validation_loss", 1.5},
                                          {"train_loss", 2.25},
                                          {"examples", 10},
                                          {"seconds", 0.5},
                                          {"failed_updates", 1},
                                          {"steps", 10},
                                          {"rejected_steps", 3},
                                          {"rejected_share", 0.3},
                                          {"learning_rate", 0.25},
                                          {"gradient_norm", 4},
                                          {"epsilon_spent", 0.75},
                                          {"delta_spent", 1e-5}});
  REQUIRE(cell.clients.size() == 3);
  CHECK(cell.clients[0].client == 0);
  CHECK(cell.clients[0].numbers == Numbers{{"rows", 4},
                                           {"learning_rate", 0.375},
                                           {"steps", 6},
                                           {"rejected", 2},
                                           {"rejected_share", 2.0 / 6},
                                           {"gradient_norm", 5}});
  CHECK(cell.clients[1].numbers.at("new_number") == 3);
  CHECK(cell.clients[2].round == 2);
  // After the last round: sums over the rounds, the last round's measures, what the summary says.
  CHECK(cell.numbers == Numbers{{"rounds_done", 2},
                                {"test_accuracy", 0.5},
                                {"best_test_accuracy", 0.5},
                                {"test_loss", 1.125},
                                {"train_loss", 1.25},
                                {"examples", 40},
                                {"idle_rounds", 0},
                                {"seconds", 2},
                                {"examples_per_second", 20},
                                {"failed_updates", 1},
                                {"steps", 20},
                                {"rejected_steps", 3},
                                {"rejected_share", 0.15},
                                {"learning_rate", 0.5},
                                {"worst_client_accuracy", 0.25},
                                {"peak_memory_bytes", 1000}});
  CHECK(cell.texts.at("model_hash") == "bb");
  CHECK(cell.texts.at("numerics_version") == "1");
}

TEST_CASE("a run that was broken off counts as unfinished, up to its last complete line") {
  const CellResult cell = Run(kRoundOne + kRoundTwo.substr(0, 40)).read();
  CHECK(cell.status == "unfinished");
  CHECK(cell.rounds.size() == 1);
  CHECK(cell.numbers.at("rounds_done") == 1);
  CHECK(Run(kRoundOne, R"({"rounds":1,"finished":false,"test_accuracy":0.1})").read().status == "unfinished");
  CHECK(Run("").read().status == "unfinished");
}

TEST_CASE("what is damaged makes the cell failed, in one line that names file and reason") {
  CHECK(names(error_of(Run(kRoundTwo + kRoundTwo, kSummary)), {"line 1", "rounds.jsonl"}));
  for (const std::string& second : {std::string("garbage"), std::string("[1]"), std::string(R"({"round":2,"x":1e999})"),
                                    R"({"round":2,"clients":[{"client":)" + std::string(20000, '[')})
    CHECK(names(error_of(Run(kRoundOne + second + "\n", kSummary)), {"line 2", "rounds.jsonl"}));
  CHECK(names(error_of(Run(kRoundOne, kSummary)), {"summary.json", "2", "rounds.jsonl", "1"}));
  for (const char* summary : {"{\"rounds\":", "[]"})
    CHECK(names(error_of(Run(kRoundOne, summary)), {"summary.json", "JSON object"}));
  Run partition(kRoundOne);
  partition.write("partition.json", R"({"rows_per_class": [[1, 2], [-3]], "clients": []})");
  CHECK(names(error_of(partition), {"partition.json", "rows_per_class"}));
  Run told(kRoundOne);
  told.write("error.txt", "the disk is full\nmore\n");
  CHECK(error_of(told) == "the disk is full");
}

TEST_CASE("rows per class are read from the manifest as far as they stand there") {
  Run run(kRoundOne);
  run.write("partition.json", R"({"format": "x", "settings": {"a": [1]}, "rows_per_class": [[1, 2], [], [3]], "clients": [[)");
  CHECK(run.read().rows_per_class == std::vector<std::vector<std::uint64_t>>{{1, 2}, {}, {3}});
}

TEST_CASE("names of classes are read where the data have them") {
  CHECK(Run(kRoundOne, R"({"rounds":1,"finished":true})").read().class_names.empty());
  const std::string summary = R"({"rounds":1,"finished":true,"class_names":["cat","dog"]})";
  CHECK(Run(kRoundOne, summary).read().class_names == std::vector<std::string>{"cat", "dog"});
}

TEST_CASE("a folder without results is refused") {
  const test::TemporaryFolder folder;
  CHECK_USAGE_ERROR(read_results(folder.path()), folder.path().string(), "'fedstride sweep'", "'run'");
  write_file(folder / "experiment.toml", "");
  CHECK_USAGE_ERROR(read_results(folder.path()), folder.path().string(), "'fedstride sweep'", "experiment.toml");
  write_file(folder / "sweep.json", "{}");
  CHECK_FAILURE(read_results(folder.path()), "sweep.json", "scale", "full", "quick");
}

TEST_CASE("a run's folder is a sweep of one cell") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const RunSummary summary = test::start(test::settings_for(folder, "a", "validation-fraction = 0.1"));
  const SweepResults results = read_results(folder / "a");
  REQUIRE(results.cells.size() == 1);
  CHECK(results.experiment.name == "a");
  const CellResult& cell = results.cells[0];
  CHECK(cell.status == "finished");
  CHECK(cell.numbers.at("test_accuracy") == summary.test.accuracy);
  CHECK(cell.numbers.at("rounds_done") == 6);
  CHECK(cell.rounds.size() == 6);
  CHECK(cell.clients.size() == 18);
  CHECK(cell.rows_per_class.size() == 3);
  const auto lines = test::lines(folder / "a/rounds.jsonl");
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(cell.rounds[i].numbers.at("test_loss") == lines[i]["test_loss"]);
    CHECK(cell.clients[3 * i + 2].numbers.at("loss") == lines[i]["clients"][2]["loss"]);
  }
  CHECK(row_of(results.summary, "a", "validation_accuracy", 4)->mean == lines[3]["validation_accuracy"]);
}

TEST_CASE("a sweep's cells are found, those not there are missing, and another run in a cell's place is refused") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const std::string text = "data = '" + folder.path().string() +
                           "'\nmodel = 'dense 8 | relu | dense classes'\nclients = 3\nrounds = 2\n[experiment]\ntitle = 't'\n"
                           "claim = 'c'\n[sweep]\nlearning-rate = [0.1, 0.2]\nseed = [1, 2]\n"
                           "[[expect]]\nclaim = 'learns'\nvalue = { metric = 'test_accuracy', where = { learning-rate = 0.2 } }\n"
                           "above = 0.1\n";
  const Experiment experiment = parse_experiment(text, "t.toml", "full", {{"optimizer", {"sgd", true}}});
  InputHashes inputs;
  const auto cells = expand(experiment, inputs);
  REQUIRE(cells.size() == 4);
  SweepOptions options;
  options.out = folder / "s";
  options.threads = 1;
  options.inputs = inputs;
  sweep(experiment, {cells[0], cells[1], cells[2]}, options);
  fs::remove_all(folder / ("s/cells/" + cells[3].key));
  SweepResults results = read_results(folder / "s");
  CHECK(results.experiment.name == "t");
  CHECK(results.machine.contains("compiler"));
  REQUIRE(results.cells.size() == 4);
  CHECK(results.cells[2].status == "finished");
  CHECK(results.cells[3].status == "missing");
  CHECK(results.cells[2].cell.value_of("learning-rate") == "0.2");
  CHECK(row_of(results.summary, cells[0].configuration, "test_accuracy")->n == 2);
  CHECK(row_of(results.summary, cells[2].configuration, "test_accuracy")->n == 1);
  CHECK(results.expectations.at(0).status == "not run");

  fs::copy(folder / ("s/cells/" + cells[0].key), folder / ("s/cells/" + cells[3].key), fs::copy_options::recursive);
  results = read_results(folder / "s");
  CHECK(results.cells[3].status == "failed");
  CHECK(names(results.cells[3].error, {cells[3].key, "config.toml"}));
}

}  // namespace fedstride::test::results_test

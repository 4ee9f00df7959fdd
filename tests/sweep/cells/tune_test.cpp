#include "sweep/cells/tune.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::tune_test {

namespace fs = std::filesystem;

namespace {

// A grid whose tolerances fall over all 9 rounds.
std::string rates(const TemporaryFolder& folder, const std::string& top = "", const std::string& more = "",
                  const std::string& axes = "learning-rate = [0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]\n") {
  return "data = '" + folder.path().string() +
         "'\nmodel = 'logistic'\nclients = 3\nrounds = 9\noptimizer = 'pooled'\n"
         "validation-fraction = 0.3\n" +
         top + "[sweep]\n" + axes + more;
}

std::string without(std::string text, const std::string& line) { return text.erase(text.find(line), line.size()); }

struct Made {
  TunePlan plan;
  TuneSummary summary;
};

Made make(const std::string& text, const TuneOptions& options, const TuneObserver& observer = {}) {
  const Experiment experiment = parse_experiment(text, "rates.toml", "full");
  TunePlan plan = plan_tuning(experiment, options);
  TuneSummary summary = tune(experiment, plan, options, observer);
  return {std::move(plan), std::move(summary)};
}

std::map<std::string, std::vector<std::string>> cell_hashes(const fs::path& sweep) {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& cell : fs::directory_iterator(sweep / "cells")) all[cell.path().filename()] = hashes(cell.path().string());
  return all;
}

}  // namespace

TEST_CASE(
    "a cell that was promoted twice has the hashes of one that was run at full length, and so has a stopped one up to there") {
  const TemporaryFolder folder;
  write_data(folder);
  const Made made = make(rates(folder), {.out = folder / "tuned"});
  const Experiment experiment = parse_experiment(rates(folder), "rates.toml", "full");
  SweepOptions options{.out = folder / "whole"};
  const auto cells = expand(experiment, options.inputs);
  sweep(experiment, cells, options);
  const auto whole = cell_hashes(folder / "whole");
  std::map<std::size_t, int> lengths;
  for (const auto& [key, hashes] : cell_hashes(folder / "tuned")) {
    ++lengths[hashes.size()];
    REQUIRE(whole.contains(key));
    const auto& same = whole.at(key);
    CHECK(hashes == std::vector<std::string>(same.begin(), same.begin() + static_cast<std::ptrdiff_t>(hashes.size())));
  }
  CHECK(lengths == std::map<std::size_t, int>{{1, 6}, {3, 2}, {9, 1}});
  CHECK(made.plan.work == 9 * 1 + 3 * 2 + 1 * 6);

  // The horizon matters: a run of 3 rounds is another one. And the winner's file repeats the winner.
  const std::string winner = read_file(made.summary.winner);
  Settings settings = parse_settings(winner, "winner.toml");
  const auto run_as = [&](const std::string& out, const std::string& rounds) {
    settings["out"] = {.value = folder / out, .from_command_line = true};
    settings["rounds"] = {.value = rounds, .from_command_line = true};
    run(resolve(settings), settings);
    return hashes(folder / out);
  };
  CHECK(run_as("again", "9") == hashes(made.summary.run.string()));
  CHECK(run_as("short", "3").back() != hashes(made.summary.run.string())[2]);
}

TEST_CASE("each rung's scores, places and noise are in rungs.csv, and the best go on") {
  const TemporaryFolder folder;
  write_data(folder);
  const Made made = make(rates(folder), {.out = folder / "t", .jobs = 3, .threads = 3});
  const CsvTable table = read_csv(folder.path() / "t/tune/rungs.csv");
  REQUIRE(table.rows.size() == 9 + 3 + 1);
  std::map<std::string, int> going;
  for (const auto& row : table.rows) {
    const double score = std::stod(row[table.column("score")]);
    CHECK(std::stod(row[table.column("low")]) <= score);
    CHECK(score <= std::stod(row[table.column("high")]));
    going[row[table.column("rung")]] += row[table.column("goes_on")] == "1";
    const int place = std::stoi(row[table.column("place")]);
    if (place > 1) CHECK(score <= std::stod((&row)[-1][table.column("score")]));
    CHECK((row[table.column("goes_on")] == "1") == (place <= (row[table.column("rung")] == "1" ? 3 : 1)));
  }
  CHECK(going == std::map<std::string, int>{{"1", 3}, {"2", 1}, {"3", 1}});
  // The score is the cell's own, and its interval that of its validation rows.
  const RungPlace& first = made.summary.final.places.front();
  const auto all = lines((made.summary.run / "rounds.jsonl").string());
  const auto told = Json::parse(read_file(made.summary.run / "summary.json"));
  const double accuracy = all.back()["validation_accuracy"].get<double>();
  const double rows = told["validation_rows"].get<double>();
  CHECK(rows == 180 - told["training_rows"].get<double>());
  CHECK(first.score.value == accuracy);
  CHECK(first.score.low == score_of_share(accuracy, rows).low);
  const auto json = Json::parse(read_file(folder.path() / "t/tune/tune.json"));
  CHECK(json["winner"]["run"] == "cells/" + made.summary.run.filename().string());
  CHECK(json["rungs"].size() == 3);
}

TEST_CASE("a tune that is stopped in any rung goes on to the same end, and does nothing twice") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto result = [&](const std::string& out) { return read_file(folder.path() / out / "tune/tune.json"); };
  const TuneOptions whole{.out = folder / "whole", .hyperband = true};
  make(rates(folder), whole);
  const TuneOptions options{.out = folder / "parts", .hyperband = true};
  std::size_t rounds = 0;
  int stops = 0;
  for (bool is_done = false; !is_done;) {
    std::atomic<bool> stop{false};
    TuneObserver observer;
    observer.stop = &stop;
    int here = 0;
    observer.begin = [&](const RungResult&) {
      SweepObserver cells;
      cells.round = [&](const Cell&, int, std::uint32_t, std::uint32_t, const RoundRecord&) {
        ++rounds;
        if (++here == 8) stop = true;
      };
      return cells;
    };
    const TuneSummary summary = make(rates(folder), options, observer).summary;
    is_done = !summary.interrupted;
    stops += summary.interrupted ? 1 : 0;
    REQUIRE(stops < 30);
  }
  CHECK(stops > 2);
  CHECK(result("parts") == result("whole"));
  std::size_t lines = 0;
  for (const auto& [key, hashes] : cell_hashes(folder / "parts")) lines += hashes.size();
  CHECK(rounds == lines);
}

TEST_CASE("seeds are of one configuration, whose score is their mean; of a loss its noise is that of the seeds") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string tuned = "[tune]\nkeys = ['learning-rate']\nmetric = 'loss'\n";
  const std::string axes = "learning-rate = [0.001, 0.05, 0.2]\nseed = [1, 2, 3]\n";
  const Made made = make(rates(folder, "", tuned, axes), {.out = folder / "t", .min_rounds = 3});
  REQUIRE(made.plan.brackets == std::vector<Bracket>{{{3, 3}, {1, 9}}});
  CHECK(made.plan.work == (3 * 3 + 6) * 3);
  const RungOrder& rung = made.summary.rungs.front().order;
  std::vector<double> values;
  for (const std::size_t i : made.plan.configurations[rung.places[0].configuration]) {
    const auto cells = expand(parse_experiment(rates(folder, "", tuned, axes), "rates.toml", "full"));
    values.push_back(lines(folder / ("t/cells/" + cells[i].key + "/rounds.jsonl"))[2]["validation_loss"].get<double>());
  }
  REQUIRE(values.size() == 3);
  CHECK(rung.places[0].score.value == score_of_seeds(values).value);
  CHECK(rung.places[0].score.high == score_of_seeds(values).high);
  CHECK(rung.places[0].score.value < rung.places[1].score.value);
}

TEST_CASE("of answers that are numbers the score is R2, by its name and over all seeds") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string text = rates(folder, "targets = 'values'\n", "", "learning-rate = [1e-4, 0.02]\nseed = [1, 2]\n");
  const Made made = make(text, {.out = folder / "t", .eta = 2, .min_rounds = 3});
  REQUIRE(made.summary.rungs.size() == 2);
  CHECK(made.summary.rungs[0].metric == "validation_r2");
  CHECK(made.summary.metric == "validation_r2");
  CHECK(tune_json(made.plan, made.summary).find("\"metric\": \"validation_r2\"") != std::string::npos);
  const std::vector<Cell> cells = expand(parse_experiment(text, "rates.toml", "full"));
  for (const RungPlace& one : made.summary.rungs[0].order.places) {
    std::vector<double> values;
    for (const std::size_t i : made.plan.configurations[one.configuration])
      values.push_back(lines(folder / ("t/cells/" + cells[i].key + "/rounds.jsonl"))
                           .at(made.summary.rungs[0].plan.rounds - 1)["validation_r2"]
                           .get<double>());
    REQUIRE(values.size() == 2);
    CHECK(one.score.value == score_of_seeds(values).value);
    CHECK(one.score.low == score_of_seeds(values).low);
  }
}

TEST_CASE("configurations are drawn from the grid by their seed, and brackets share few of them") {
  const TemporaryFolder folder;
  write_data(folder);
  const Experiment experiment = parse_experiment(rates(folder), "rates.toml", "full");
  const auto pool = [&](std::size_t draws, std::uint64_t seed) {
    return plan_tuning(experiment, {.draws = draws, .draw_seed = seed}).pool;
  };
  CHECK(pool(0, 1) == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(pool(4, 1).size() == 4);
  CHECK(pool(4, 1) == pool(4, 1));
  CHECK(pool(4, 1) != pool(4, 2));
  const TunePlan plan = plan_tuning(experiment, {.hyperband = true});
  REQUIRE(plan.brackets == std::vector<Bracket>{{{9, 1}, {3, 3}, {1, 9}}, {{5, 3}, {1, 9}}, {{3, 9}}});
  for (const std::size_t one : plan.entries[2]) CHECK(std::ranges::find(plan.entries[1], one) == plan.entries[1].end());
}

TEST_CASE("a cell that fails leaves its rung undecided, and others of it finished") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string axes = "model = ['logistic', 'conv 3 3']\n";
  const Made made = make(without(rates(folder, "", "", axes), "model = 'logistic'\n"), {.out = folder / "t"});
  REQUIRE(made.summary.failed.size() == 1);
  CHECK(made.summary.failed[0].second.find("conv") != std::string::npos);
  CHECK(made.summary.rungs.empty());
  CHECK(made.summary.final.places.empty());
  CHECK(!fs::exists(folder.path() / "t/tune/winner.toml"));
}

TEST_CASE("what cannot be tuned is refused before anything is made") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto plan = [&](const std::string& text, const TuneOptions& options = {}) {
    return plan_tuning(parse_experiment(text, "rates.toml", "full"), options);
  };
  CHECK_USAGE_ERROR(plan(rates(folder), {.eta = 1}), "eta", "1", "2");
  CHECK_USAGE_ERROR(plan(rates(folder), {.min_rounds = 10}), "min-rounds", "10", "9");
  CHECK_USAGE_ERROR(plan(rates(folder), {.draws = 10}), "configurations", "10", "9");
  CHECK_USAGE_ERROR(plan(rates(folder), {.draws = 1}), "two");
  CHECK_USAGE_ERROR(plan(rates(folder, "", "", "seed = [1, 2]\n")), "two", "seed");
  CHECK_USAGE_ERROR(plan(rates(folder, "evaluate-every = 2\n")), "evaluate-every", "2", "1");
  CHECK_USAGE_ERROR(plan(without(rates(folder, "", "", "rounds = [3, 9]\nbatch = [5, 9]\n"), "rounds = 9\n")), "rounds", "3",
                    "9");
  CHECK_USAGE_ERROR(
      plan(rates(folder,
                 "dp = 'client'\nnoise-multiplier = 1.0\nclip = 1.0\nclasses = 3\nheader = 'no'\nmean = '0'\ndeviation = "
                 "'1'\npublic-test = true\n")),
      "dp", "'client'", "--accounted");
  CHECK_USAGE_ERROR(plan(rates(folder, "", "[tune]\nkeys = ['learning-rate']\non = 'test'\nwhy = 'x'\n")), "on", "'test'");
  CHECK_USAGE_ERROR(
      plan(rates(folder, "", "[tune]\nkeys = ['learning-rate']\n", "learning-rate = [0.1, 0.2]\nbatch = [10, 20]\n")), "keys",
      "batch", "--batch");
  CHECK_USAGE_ERROR(plan(without(rates(folder), "validation-fraction = 0.3\n")), "validation-fraction", "0");
  CHECK(!fs::exists("sweeps"));

  make(rates(folder), {.out = folder / "t", .min_rounds = 3});
  CHECK_USAGE_ERROR(make(rates(folder), {.out = folder / "t", .eta = 2, .min_rounds = 3}), "out", folder / "t", "eta 3", "eta 2");
  CHECK_USAGE_ERROR(make(rates(folder), {.out = folder.path().string()}), "out", "'" + folder.path().string() + "'");
}

}  // namespace fedstride::test::tune_test

#include "sweep/cells/sweep.hpp"
#include "tests/support/json.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sweep/cells/cell_state.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/cells/lasting_results.hpp"

namespace fedstride::test::sweep_test {

namespace fs = std::filesystem;

namespace {

// Two optimizers, two seeds, on the small table in the folder.
std::string tiny(const test::TemporaryFolder& folder, const std::string& seeds = "1, 2") {
  return "data = '" + folder.path().string() +
         "'\nmodel = 'dense 8 | relu | dense classes'\nclients = 3\nrounds = 3\n[experiment]\ntitle = 'Tiny'\n"
         "[sweep]\noptimizer = ['adadp', 'sgd']\nseed = [" +
         seeds + "]\n[when.optimizer.sgd]\nlearning-rate = [0.05]\n";
}

struct Made {
  SweepSummary summary;
  std::vector<Cell> cells;
};

Made make(const std::string& text, SweepOptions options, const SweepObserver& observer = {},
          const std::string& name = "tiny.toml") {
  const Experiment experiment = parse_experiment(text, name, "full");
  const auto cells = expand(experiment, options.inputs);
  return {sweep(experiment, cells, options, observer), cells};
}

auto written(const fs::path& sweep, const Cell& cell) { return fs::last_write_time(sweep / "cells" / cell.key / "summary.json"); }

std::size_t files_below(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

}  // namespace

TEST_CASE("a sweep runs every cell, notifies its observer, and writes cells and its own description to its folder") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  std::size_t cells = 0;
  std::vector<std::string> ended;
  std::uint32_t rounds = 0;
  SweepObserver observer;
  observer.started = [&](std::size_t count, std::size_t before) { cells = count + before; };
  observer.round = [&](const Cell&, int, std::uint32_t, std::uint32_t of, const RoundRecord& record) {
    rounds += of == 3 && record.test && record.test->accuracy > 0;
  };
  observer.cell_ended = [&](const Cell& cell, int, const std::string& error) { ended.push_back(point_text(cell) + error); };
  const Made made = make(tiny(folder), {.out = folder / "s"}, observer);
  CHECK(cells == 4);
  CHECK(rounds == 12);
  CHECK(ended == std::vector<std::string>{"optimizer adadp, seed 1", "optimizer adadp, seed 2",
                                          "optimizer sgd, learning-rate 0.05, seed 1",
                                          "optimizer sgd, learning-rate 0.05, seed 2"});
  CHECK(made.summary.finished == 4);
  CHECK(made.summary.failed.empty());
  CHECK(read_file(made.summary.folder / "experiment.toml") == tiny(folder));
  const auto json = Json::parse(read_file(made.summary.folder / "sweep.json"));
  CHECK(json["experiment"] == "tiny");
  CHECK(json["scale"] == "full");
  CHECK(json["machine"]["processor"].is_string());
  for (const Cell& cell : made.cells) CHECK(fs::exists(made.summary.folder / "cells" / cell.key / "summary.json"));
}

TEST_CASE("jobs and threads change no result") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  make(tiny(folder), {.out = folder / "a", .jobs = 1, .threads = 1});
  make(tiny(folder), {.out = folder / "b", .jobs = 2, .threads = 2});
  make(tiny(folder), {.out = folder / "c", .jobs = 1, .threads = 2});
  make(tiny(folder), {.out = folder / "d", .jobs = 3, .threads = 6});
  const std::string expected = test::lasting_results(folder / "a");
  CHECK(expected.size() > 1000);
  for (const char* other : {"b", "c", "d"}) CHECK(test::lasting_results(folder / other) == expected);
}

TEST_CASE("shards in one folder make the results of the whole sweep, and each runs its own cells") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  make(tiny(folder), {.out = folder / "whole"});
  const SweepSummary second = make(tiny(folder), {.out = folder / "parts", .shard = 1, .shards = 3}).summary;
  CHECK(second.cells == 1);
  CHECK(second.finished == 1);
  CHECK(make(tiny(folder), {.out = folder / "parts", .shard = 2, .shards = 3}).summary.cells == 1);
  CHECK(test::lasting_results(folder / "parts") != test::lasting_results(folder / "whole"));
  CHECK(make(tiny(folder), {.out = folder / "parts", .shard = 0, .shards = 3}).summary.cells == 2);
  CHECK(test::lasting_results(folder / "parts") == test::lasting_results(folder / "whole"));
}

TEST_CASE("a finished cell is never run again, and a seed that is added runs its cells alone") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const Made first = make(tiny(folder), {.out = folder / "s"});
  std::vector<fs::file_time_type> times;
  for (const Cell& cell : first.cells) times.push_back(written(folder / "s", cell));
  std::vector<std::string> started;
  SweepObserver observer;
  observer.cell_started = [&](const Cell& cell, int) { started.push_back(point_text(cell)); };
  CHECK(make(tiny(folder), {.out = folder / "s"}, observer).summary.finished == 4);
  CHECK(started.empty());
  const SweepSummary more = make(tiny(folder, "1, 2, 3"), {.out = folder / "s"}, observer).summary;
  CHECK(more.finished == 6);
  CHECK(started == std::vector<std::string>{"optimizer adadp, seed 3", "optimizer sgd, learning-rate 0.05, seed 3"});
  for (std::size_t i = 0; i < times.size(); ++i) CHECK(written(folder / "s", first.cells[i]) == times[i]);
}

TEST_CASE("two points that are the same run are run once and both finished") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const std::string text =
      "data = '" + folder.path().string() +
      "'\nmodel = 'logistic'\nclients = 3\n[variant.a]\nrounds = [2, 1]\n[variant.b]\nbatch = [10, 20]\nrounds = 2\n";
  for (const int jobs : {1, 3}) {
    const Made made = make(text, {.out = folder / std::to_string(jobs), .jobs = jobs});
    CHECK(made.summary.finished == 4);
    CHECK(std::distance(fs::directory_iterator(folder.path() / std::to_string(jobs) / "cells"), fs::directory_iterator()) == 3);
  }
}

TEST_CASE("a run made elsewhere counts as the cell whose name its folder is given") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  InputHashes inputs;
  const auto cells = expand(parse_experiment(tiny(folder), "tiny.toml", "full"), inputs);
  Settings settings = cells[2].settings;
  settings["out"] = {.value = folder / ("s/cells/" + cells[2].key), .from_command_line = true};
  run(resolve(settings), settings);
  std::vector<std::string> started;
  SweepObserver observer;
  observer.cell_started = [&](const Cell& cell, int) { started.push_back(cell.key); };
  CHECK(make(tiny(folder), {.out = folder / "s"}, observer).summary.finished == 4);
  CHECK(started == std::vector<std::string>{cells[0].key, cells[1].key, cells[3].key});
}

TEST_CASE("a stopped sweep abandons the current rounds, and resuming it gives the results of an uninterrupted one") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  make(tiny(folder), {.out = folder / "whole"});
  std::atomic<bool> stop{false};
  SweepObserver observer;
  observer.stop = &stop;
  observer.round = [&](const Cell& cell, int, std::uint32_t round, std::uint32_t, const RoundRecord&) {
    if (cell.value_of("seed") == "2" && round == 1) stop = true;
  };
  const Made broken = make(tiny(folder), {.out = folder / "s"}, observer);
  CHECK(broken.summary.interrupted);
  CHECK(broken.summary.finished == 1);
  CHECK(broken.summary.failed.empty());
  const Experiment experiment = parse_experiment(tiny(folder), "tiny.toml", "full");
  CHECK(cell_state(folder / "s", experiment, broken.cells[0], {}).kind == CellState::Kind::finished);
  CHECK(cell_state(folder / "s", experiment, broken.cells[1], {}).kind == CellState::Kind::unfinished);
  CHECK(cell_state(folder / "s", experiment, broken.cells[2], {}).kind == CellState::Kind::fresh);
  CHECK(make(tiny(folder), {.out = folder / "s"}).summary.finished == 4);
  CHECK(test::lasting_results(folder / "s") == test::lasting_results(folder / "whole"));
}

TEST_CASE("a failing cell is reported with its error, which its folder keeps, and tried again; the others go on") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const std::string text =
      "data = '" + folder.path().string() + "'\nclients = 3\nrounds = 1\n[sweep]\nmodel = ['conv 3 3', 'logistic']\n";
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Made made = make(text, {.out = folder / "s"});
    CHECK(made.summary.finished == 1);
    REQUIRE(made.summary.failed.size() == 1);
    CHECK(made.summary.failed[0].first.key == made.cells[0].key);
    const std::string error = made.summary.failed[0].second;
    CHECK(error.find("conv") != std::string::npos);
    CHECK(read_file(made.summary.folder / "cells" / made.cells[0].key / "error.txt") == error + "\n");
    CHECK(made.summary.finished_cells.at(0).key == made.cells[1].key);
  }
}

TEST_CASE("a damaged cell fails by name, with what to do, and the others go on") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const auto stopped_early = [&](const std::string& out) {
    std::atomic<bool> stop{false};
    SweepObserver observer;
    observer.stop = &stop;
    observer.round = [&](const Cell&, int, std::uint32_t, std::uint32_t, const RoundRecord&) { stop = true; };
    return make(tiny(folder), {.out = folder / out}, observer);
  };
  const auto put = [](const fs::path& path, const std::string& contents) { std::ofstream(path) << contents; };
  struct Damage {
    const char* file;
    const char* contents;
    std::vector<std::string_view> names;
  };
  const Damage damages[] = {
      {"checkpoint", "rubbish", {"checkpoint"}},
      {"rounds.jsonl", "{}\n", {"rounds.jsonl"}},
      {"summary.json", "rubbish", {"summary.json", "JSON"}},
      {"summary.json", "{}", {"summary.json", "'finished'", "'rounds'"}},
      {"config.toml", "rounds = 3", {"config.toml"}},
      {"config.toml", "rubbish", {"config.toml", "line 1"}},
  };
  int number = 0;
  for (const Damage& damage : damages) {
    CAPTURE(damage.file);
    const std::string out = "s" + std::to_string(number++);
    const fs::path cell = folder.path() / out / "cells" / stopped_early(out).cells[0].key;
    put(cell / damage.file, damage.contents);
    const Made made = make(tiny(folder), {.out = folder / out});
    CHECK(made.summary.finished == 3);
    REQUIRE(made.summary.failed.size() == 1);
    const std::string error = made.summary.failed[0].second;
    CHECK_MESSAGE(names(error, {cell.string()}), error);
    for (const std::string_view name : damage.names) CHECK_MESSAGE(names(error, {name}), error);
    fs::remove_all(cell);
    CHECK(make(tiny(folder), {.out = folder / out}).summary.finished == 4);
  }
}

TEST_CASE("a finished cell whose rounds, data or numerics do not fit is damaged") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const Experiment experiment = parse_experiment(tiny(folder), "tiny.toml", "full");
  InputHashes inputs;
  const auto cells = expand(experiment, inputs);
  sweep(experiment, cells, {.out = folder / "s", .shards = 4});
  const fs::path cell = folder.path() / "s/cells" / cells[0].key;
  const auto why = [&] { return cell_state(folder / "s", experiment, cells[0], inputs).why; };
  CHECK(why().empty());
  const std::string summary = read_file(cell / "summary.json");
  const auto with = [&](const char* key, const Json& value) {
    auto json = Json::parse(summary);
    json[key] = value;
    std::ofstream(cell / "summary.json") << json;
    return why();
  };
  CHECK(names(with("data_hash", "other"), {"data_hash"}));
  CHECK(names(with("numerics_version", 1000), {"numerics_version", std::to_string(kOpenNumericsVersion)}));
  CHECK(names(with("rounds", "3"), {"summary.json", "'finished'", "'rounds'"}));
  std::ofstream(cell / "summary.json") << summary;
  CHECK(why().empty());
  const std::string rounds = read_file(cell / "rounds.jsonl");
  std::ofstream(cell / "rounds.jsonl") << rounds.substr(0, rounds.find('\n') + 1);
  CHECK(names(why(), {"rounds.jsonl"}));
  std::ofstream(cell / "rounds.jsonl") << rounds;
  CHECK(why().empty());
  fs::remove(cell / "partition.json");
  CHECK(names(why(), {"partition.json"}));
}

TEST_CASE("cells of another grid stay where they are, and are counted") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  CHECK(make(tiny(folder), {.out = folder / "s"}).summary.others == 0);
  const Made other = make(tiny(folder, "2, 3"), {.out = folder / "s"});
  CHECK(other.summary.finished == 4);
  CHECK(other.summary.others == 2);
  CHECK(make(tiny(folder, "1, 2, 3"), {.out = folder / "s"}).summary.others == 0);
}

TEST_CASE("another experiment's folder, and one that holds something else, are refused and left as they are") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  make(tiny(folder), {.out = folder / "s", .shards = 4});
  const auto before = files_below(folder.path());
  const auto made_in = [&](const std::string& out, const std::string& name = "tiny.toml") {
    return make(tiny(folder), {.out = out}, {}, name);
  };
  CHECK_USAGE_ERROR(made_in(folder / "s", "other.toml"), "out", "'" + (folder / "s") + "'", "'tiny'", "'other'");
  CHECK_USAGE_ERROR(made_in(folder.path().string()), "out", "'" + folder.path().string() + "'");
  CHECK_USAGE_ERROR(made_in(folder / "train.csv"), "out", "'" + (folder / "train.csv") + "'");
  CHECK(files_below(folder.path()) == before);
  std::ofstream(folder / "s/sweep.json") << "rubbish";
  CHECK_USAGE_ERROR(made_in(folder / "s"), "out", "'" + (folder / "s") + "'", "sweep.json");
}

TEST_CASE("a cell that another process holds is left to it") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const Made first = make(tiny(folder), {.out = folder / "s", .shards = 4});
  const fs::path cell = folder.path() / "s/cells" / first.cells[1].key;
  fs::create_directory(cell);
  SweepSummary summary;
  {
    const FolderLock lock(cell, FolderLock::Wait::no);
    REQUIRE(lock.held());
    summary = make(tiny(folder), {.out = folder / "s"}).summary;
  }
  CHECK(summary.finished == 3);
  CHECK(summary.held_elsewhere == 1);
  CHECK(summary.failed.empty());
  summary = make(tiny(folder), {.out = folder / "s"}).summary;
  CHECK(summary.finished == 4);
  CHECK(summary.held_elsewhere == 0);
}

}  // namespace fedstride::test::sweep_test

// Takes 12 s of processor time: every setting is changed under every part, and each time a cell's key is made.
#include "sweep/cells/cell_keys.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/datasets.hpp"
#include "sweep/cells/sweep_folder.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/other_values.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::cell_key_test {
namespace {

InputHashes known_data() { return {{"data set synthetic", "d1"}, {"data set mnist", "d2"}}; }

std::vector<Cell> cells_of(const std::string& text, InputHashes inputs = known_data(), const Settings& fixed = {}) {
  return expand(parse_experiment(text, "keys.toml", "full", fixed), inputs);
}
Cell cell_of(const std::string& text, const InputHashes& inputs = known_data()) { return cells_of(text, inputs).at(0); }

Cell filled(const Experiment& experiment, const Configuration& configuration, const std::string& more = "") {
  Cell cell{.settings = parse_settings(write_settings(configuration, {}) + more, "walk.toml")};
  InputHashes inputs{{data_input(configuration), "the data"}};
  CellKeys(experiment, inputs, {}).fill(cell);
  return cell;
}

/// Every setting that a configuration can have: the run's own, and those of each part of each family.
void for_each_setting_there_is(const std::function<void(Configuration&, const SettingInfo&, void* owner)>& visit) {
  Configuration plain;
  for (const SettingInfo& info : settings_of<Configuration>()) visit(plain, info, &plain);
  for (std::size_t family = 0; family < chosen_parts(plain).size(); ++family)
    for (const std::string& name : chosen_parts(plain)[family]->family().names()) {
      Configuration configuration;
      ChosenPart& chosen = *chosen_parts(configuration)[family];
      chosen.choose(name);
      if (name == "outside") configuration.dataset = kNoDataset;
      for (const SettingInfo& info : chosen.part().settings()) visit(configuration, info, chosen.part().object());
    }
}

}  // namespace

TEST_CASE("a key is 16 hexadecimal digits that follow from what a run does, not from how it is carried out") {
  const std::string key = cell_of("seed = 3").key;
  CHECK(key.size() == 16);
  CHECK(key.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(cell_of("seed = 3\nthreads = 7\nquiet = true").key == key);
  CHECK(cell_of("seed = 3\ndataset = 'synthetic'\nrounds = 20").key == key);  // said, where it was the default
  CHECK(cells_of("[sweep]\nseed = [3]").at(0).key == key);
}

TEST_CASE("settings, rounds, data and evaluations all change the key") {
  std::set<std::string> keys;
  for (const char* text : {"", "seed = 2", "rounds = 3", "evaluate-every = 2", "evaluate-rows = 5", "dataset = 'mnist'",
                           "batch = 11", "dp = 'example'\nnoise-multiplier = 1"})
    keys.insert(cell_of(text).key);
  InputHashes others = known_data();
  others["data set synthetic"] = "d3";
  keys.insert(cell_of("", others).key);
  CHECK(keys.size() == 9);
}

TEST_CASE("every setting that shapes a result changes the key, where it is read, and no other does") {
  const TemporaryFolder folder;
  const Experiment experiment = parse_experiment("", "walk.toml", "full");
  write_file(folder / "some.file", "some contents");
  std::size_t seen = 0, unread = 0;
  for_each_setting_there_is([&](Configuration& configuration, const SettingInfo& info, void* owner) {
    CAPTURE(info.name);
    ++seen;
    if (shapes_output(info.shapes)) {  // no file of a run has it
      const std::string line = info.kind == SettingKind::flag ? " = true\n"
                               : info.valid.known == nullptr  ? " = 'elsewhere'\n"
                                                              : " = ''\n";
      CHECK(filled(experiment, configuration, std::string(info.name) + line).key == filled(experiment, configuration).key);
      return;
    }
    const auto changed = [&](const SettingValue& value) {
      const SettingValue kept = info.get(owner);
      const Cell without = filled(experiment, configuration);
      const std::string data = data_input(configuration);
      info.assign(owner, value);
      // The contents of these are in the hash of the data, which goes by their names.
      const bool by_data = info.name == "words" || info.name == "public-data";
      const bool other = by_data ? data_input(configuration) != data : filled(experiment, configuration).key != without.key;
      info.set(owner, kept);
      return other;
    };
    const auto values = other_values(info, info.get(owner), folder / "some.file");
    REQUIRE_FALSE(values.empty());
    const bool counts = shapes_rounds(info.shapes) || info.shapes == Shapes::reports;
    if (info.name == "data") return;  // it makes another data set of it, 'file'
    if (!info.is_read(owner)) {
      for (const SettingValue& value : values) CHECK_FALSE(changed(value));
      ++unread;
      // Another setting of the same owner has it read.
      const auto settings = owner == &configuration ? settings_of<Configuration>() : [&] {
        for (ChosenPart* chosen : chosen_parts(configuration))
          if (chosen->part().object() == owner) return chosen->part().settings();
        return std::span<const SettingInfo>();
      }();
      for (const SettingInfo& other : settings)
        for (const SettingValue& value : other_values(other, other.get(owner), folder / "some.file")) {
          const SettingValue kept = other.get(owner);
          if (info.is_read(owner)) break;
          other.set(owner, value);
          if (!info.is_read(owner)) other.set(owner, kept);
        }
      // `start` is read by two settings together.
      if (info.name == "start")
        configuration.init = folder / "some.file", configuration.server_schedule = ServerScheduleShape::noise;
      REQUIRE(info.is_read(owner));
    }
    for (const SettingValue& value : values) {
      CAPTURE(value_text(value));
      CHECK(changed(value) == counts);
    }
    if (info.name == "start") configuration.server_schedule = ServerScheduleShape::constant;
  });
  CHECK(seen > 150);
  CHECK(unread > 20);
}

TEST_CASE("settings that the chosen parts do not read make one cell") {
  const auto key = [](const std::string& text) { return cell_of(text).key; };
  CHECK(key("optimizer = 'adadp'\ndecay = 0.1") == key("optimizer = 'adadp'\ndecay = 0.3"));
  CHECK(key("optimizer = 'adadp'\nadapt-epochs = 5\ndecay = 0.1") != key("optimizer = 'adadp'\nadapt-epochs = 5\ndecay = 0.3"));
  CHECK(key("optimizer = 'sgd'\ndecay = 0.1") == key("optimizer = 'sgd'\ndecay = 0.3"));
  const auto checked = [](const std::string& text) { check_cells(parse_experiment(text, "keys.toml", "full")); };
  CHECK_USAGE_ERROR(checked("optimizer = 'adadp'\n[sweep]\ndecay = [0.2, 0.3]"), "2 of 2 cells", "decay", "adapt-epochs 0");
  CHECK_USAGE_ERROR(checked("[sweep]\nthreads = [1, 2]"), "threads", "swept");
}

TEST_CASE("under privacy the data enter a cell's name by a keyed hash, which the sweep's key repeats and nobody else can") {
  const test::TemporaryFolder folder;
  const std::string text = "dp = 'example'\nnoise-multiplier = 1\n";
  const std::string raw = load_dataset("synthetic", {}).hash;
  const auto named = [&](const std::filesystem::path& sweep_key) {
    InputHashes inputs;
    const Cell cell = expand(parse_experiment(text, "keys.toml", "full"), inputs, sweep_key).at(0);
    REQUIRE(inputs.size() == 1);
    CHECK(inputs.begin()->first == "private data set synthetic");
    CHECK(inputs.begin()->second != raw);
    CHECK(expand(parse_experiment(text, "keys.toml", "full"), inputs).at(0).key ==
          cell.key);  // where the data and the key are not
    return cell.key;
  };
  CHECK(named({}) != named({}));  // provisional names
  const Experiment experiment = parse_experiment(text, "keys.toml", "full");
  keep_sweep_key(folder / "one", experiment);
  keep_sweep_key(folder / "two", experiment);
  CHECK(named(sweep_key(folder / "one")) == named(sweep_key(folder / "one")));
  CHECK(named(sweep_key(folder / "one")) != named(sweep_key(folder / "two")));
  keep_sweep_key(folder / "plain", parse_experiment("", "keys.toml", "full"));
  CHECK_FALSE(std::filesystem::exists(folder / "plain"));
  check_sweep_folder(folder / "one", experiment);  // the key alone is nothing that a sweep could not begin in
}

TEST_CASE("files that a run reads count by their contents, not by their names") {
  const test::TemporaryFolder folder;
  const auto with = [&](const std::string& name, const std::string& contents) {
    std::ofstream(folder / name) << contents;
    return cell_of("init = '" + (folder / name) + "'").key;
  };
  const std::string key = with("a", "weights");
  CHECK(with("b", "weights") == key);
  CHECK(with("c", "other weights") != key);
  CHECK(cell_of("").key != key);
  CHECK_FAILURE(cell_of("init = '" + (folder / "none") + "'"), folder / "none");
}

TEST_CASE("cells that differ in the seed alone share a configuration; others do not") {
  const auto cells = cells_of("[sweep]\nbatch = [1, 2]\nseed = [1, 2]");
  REQUIRE(cells.size() == 4);
  CHECK(cells[0].configuration == cells[1].configuration);
  CHECK(cells[2].configuration == cells[3].configuration);
  CHECK(cells[0].configuration != cells[2].configuration);
  std::set<std::string> keys;
  for (const Cell& cell : cells) keys.insert(cell.key);
  CHECK(keys.size() == 4);
}

TEST_CASE("two points that come to the same run share its key, and are configurations of their own") {
  const auto cells = cells_of("[variant.size]\nbatch = [10, 20]\n[variant.rounds]\nrounds = [20, 30]");
  REQUIRE(cells.size() == 4);
  CHECK(cells[0].key == cells[2].key);
  CHECK(cells[0].configuration != cells[2].configuration);
}

TEST_CASE("a cell tells the command that repeats it, quoted for a shell") {
  const auto cells = cells_of(
      "model = 'dense 8 | relu | dense classes'\npublishable = true\nthreads = 3\n[sweep]\nrandom-fraction = [0.5]\n"
      "seed = [4]\n[when.random-fraction.\"0.5\"]\npartition = 'interpolated'\n");
  CHECK(cells.at(0).command ==
        "fedstride run --model 'dense 8 | relu | dense classes' --partition interpolated --publishable "
        "--random-fraction 0.5 --seed 4");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("") == "''");
}

TEST_CASE("a flag that went through a sweep's folder as text is the same flag") {
  const Settings texts{{"publishable", {.value = std::string("true"), .from_command_line = true}}};
  const Settings flags{{"publishable", {.value = true, .from_command_line = true}}};
  CHECK(cells_of("", known_data(), texts).at(0).command == cells_of("", known_data(), flags).at(0).command);
}

TEST_CASE("cells of another command are keyed by its words") {
  const auto cells =
      cells_of("[experiment]\ntitle = 'x'\ncommand = 'privacy epsilon'\n[sweep]\nsteps = [10, 20]\nnoise-multiplier = [4.0]");
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].command == "fedstride privacy epsilon --noise-multiplier 4 --steps 10 --json");
  CHECK(cells[0].key != cells[1].key);
}

TEST_CASE("a configuration that does not resolve is refused with the cell's point") {
  CHECK_USAGE_ERROR(cells_of("[sweep]\noptimizer = ['adadp', 'sgd']\ntolerance = [1.0]"), "(optimizer sgd, tolerance 1)",
                    "tolerance", "'sgd'");
  CHECK_USAGE_ERROR(cells_of("[sweep]\nbatch = [10, -1]"), "(batch -1)", "batch", "-1");
}

TEST_CASE("rows that dp protects choose nothing: a tuned grid needs a public test part, or accuracy that is released") {
  const InputHashes inputs{{"private data set synthetic", "d1"}, {"private data set covertype", "d2"}};
  const auto tuned = [&](const std::string& more, const std::string& on) {
    return cells_of("dp = 'example'\nnoise-multiplier = 1.0\noptimizer = 'sgd'\n" + more +
                        "[sweep]\nlearning-rate = [0.1, 0.2]\n[tune]\nkeys = ['learning-rate']\non = '" + on +
                        "'\nwhy = 'a test'\n",
                    inputs);
  };
  CHECK_USAGE_ERROR(tuned("validation-fraction = 0.1\n", "validation"), "[tune]", "learning-rate", "validation", "'example'");
  CHECK_NOTHROW(tuned("", "test"));
  CHECK_USAGE_ERROR(tuned("dataset = 'covertype'\n", "test"), "[tune]", "learning-rate", "test", "'example'", "--public-test");
  CHECK_NOTHROW(tuned("dataset = 'covertype'\nevaluate = 'private'\nevaluate-noise = 5.0\n", "test"));
}

TEST_CASE("hashes that were found out are remembered") {
  InputHashes inputs;
  expand(parse_experiment("", "keys.toml", "full"), inputs);
  REQUIRE(inputs.contains("data set synthetic"));
  CHECK(inputs.at("data set synthetic").size() == 64);
}

}  // namespace fedstride::test::cell_key_test

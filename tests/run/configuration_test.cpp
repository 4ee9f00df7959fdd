#include "run/configuration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "optim/adadp.hpp"
#include "optim/sgd.hpp"
#include "partitions/from_file.hpp"

namespace fedstride::test::configuration_test {
namespace {

Configuration from(const std::string& toml) { return resolve(parse_settings(toml, "test.toml")); }
std::string again(const std::string& toml) {
  const Settings settings = parse_settings(toml, "test.toml");
  return write_settings(resolve(settings), settings);
}
Setting typed(const std::string& text) { return {text, true}; }

}  // namespace

TEST_CASE("the defaults are the paper's pathological federation on the built-in data") {
  const Configuration configuration = from("");
  CHECK(configuration.dataset == "synthetic");
  CHECK(configuration.clients == 5);
  CHECK(configuration.batch == 10);
  CHECK(configuration.local_epochs == 1);
  CHECK(configuration.model == "adadp-cnn");
  CHECK(configuration.partition.name() == "pathological");
  REQUIRE(configuration.optimizer.name() == "adadp");
  CHECK(configuration.optimizer.as<Adadp>()->tolerance.value == 0.1);
}

TEST_CASE("what is written reads back, and is written the same again") {
  const char* files[] = {
      "",
      "optimizer = 'sgd'\nlearning-rate = 0.0316\nschedule = 'linear'\nfinal-learning-rate = 1e-5",
      "partition = 'interpolated'\nrandom-fraction = 0.33\nseed = 4611686018427387904",
      "partition = 'dirichlet'\nalpha = 1e-7\nout = 'x/y z'\nquiet = true\nthreads = 3",
      "model = \"dense 3 | relu |\\tdense classes\"\ndata-dir = 'C:\\path \"q\"'\nserver-learning-rate = 2",
  };
  for (const char* file : files) {
    CAPTURE(file);
    const std::string once = again(file);
    CHECK(again(once) == once);
  }
}

TEST_CASE("every key that a file sets to something else appears in the resolved file") {
  const std::string text = again(
      "rounds = 3\nbatch = 7\naugment = 'crop-flip'\nvalidation-fraction = 0.25\nclients = 9\nlimit-per-client = 11\n"
      "model = 'logistic'\ninitialisation = 'glorot'\nfreeze = 'fc1'\nlocal-epochs = 4\nclient-state = 'reset'\n"
      "weights = 'equal'\nevaluate-every = 2\nseed = 5\nthreads = 6\nquiet = true\nout = 'there'\noptimizer = 'adam'\n"
      "beta1 = 0.8\npartition = 'shards'\nshards-per-client = 3\n");
  for (const char* line : {"rounds = 3",
                           "batch = 7",
                           "augment = 'crop-flip'",
                           "validation-fraction = 0.25",
                           "clients = 9",
                           "limit-per-client = 11",
                           "model = 'logistic'",
                           "initialisation = 'glorot'",
                           "freeze = 'fc1'",
                           "local-epochs = 4",
                           "client-state = 'reset'",
                           "weights = 'equal'",
                           "evaluate-every = 2",
                           "seed = 5",
                           "threads = 6",
                           "quiet = true",
                           "out = 'there'",
                           "optimizer = 'adam'",
                           "beta1 = 0.8",
                           "partition = 'shards'",
                           "shards-per-client = 3"}) {
    CAPTURE(line);
    CHECK(text.find(std::string(line) + '\n') != std::string::npos);
  }
}

TEST_CASE("a bound on updates is a key like the others, and its rule counts where there is a bound") {
  const std::string text = again("max-update-norm = 3\nover-norm = 'clip'");
  CHECK(text.find("max-update-norm = 3.0") != std::string::npos);
  CHECK(text.find("over-norm = 'clip'") != std::string::npos);
  CHECK(again(text) == text);
  CHECK(write_settings(determining(from("over-norm = 'clip'")), {}) == write_settings(determining(from("")), {}));
}

TEST_CASE("paths of inputs become absolute, and nothing else does") {
  const Configuration relative = from(
      "data-dir = 'a/../b'\ninit = 'c.safetensors'\npartition = 'file'\npartition-file = './d.json'\nout = 'e'\n"
      "dataset = 'csv'");
  const Configuration absolute = with_absolute_paths(relative);
  const std::string here = std::filesystem::current_path().string();
  CHECK(absolute.data_dir == here + "/b");
  CHECK(absolute.init == here + "/c.safetensors");
  CHECK(absolute.partition.as<FromFile>()->partition_file == here + "/d.json");
  CHECK(absolute.out == "e");
  CHECK(absolute.dataset == "csv");
  CHECK(with_absolute_paths(from("")).data_dir.empty());
  CHECK(write_settings(with_absolute_paths(absolute), {}) == write_settings(absolute, {}));
}

TEST_CASE("more clients in a round than there are is refused, on the command line, in a file and from code") {
  CHECK_THROWS_WITH_AS(from("cohort = 'fixed'\ncohort-size = 6"),
                       "cohort-size is 6; there are 5 clients, at most that many are valid", Error);
  CHECK_THROWS_AS(from("cohort = 'fixed'"), Error);  // ten unless it is said
  CHECK(from("cohort = 'fixed'\ncohort-size = 5").cohort->rate(5) == 1);
  Configuration made = from("cohort = 'fixed'\ncohort-size = 5");
  made.clients = 4;
  CHECK_THROWS_AS(check_together(made), Error);
}

TEST_CASE("an output folder given on the command line is not part of the resolved file") {
  const Settings settings{{"out", typed("runs/here")}, {"quiet", {true, true}}};
  const std::string text = write_settings(resolve(settings), settings);
  CHECK(text.find("out") == std::string::npos);
  CHECK(text.find("quiet") == std::string::npos);
}

TEST_CASE("a file of 0.3.0 is read: its discard is too-long") {
  for (const auto& [old, now] : {std::pair{"on", TooLong::undo}, {"off", TooLong::keep}, {"preset", TooLong::preset}})
    CHECK(from("optimizer = 'adadp'\ndiscard = '" + std::string(old) + "'").optimizer.as<Adadp>()->too_long == now);
  CHECK_THROWS_WITH_AS(from("discard = 'never'"), "too-long 'never' is unknown; valid: preset, undo, keep, clip", Error);
}

TEST_CASE("an unknown key names the nearest valid one, and its line") {
  CHECK_THROWS_WITH_AS(from("\nlerning-rate = 1"), doctest::Contains("did you mean 'learning-rate'"), Error);
  CHECK_THROWS_WITH_AS(from("\nlerning-rate = 1"), doctest::Contains("line 2"), Error);
  CHECK_THROWS_WITH_AS(resolve({{"cliens", typed("3")}}), doctest::Contains("'clients'"), Error);
}

TEST_CASE("values of the wrong kind, out of range or not finite are refused with what would be valid") {
  const std::pair<const char*, const char*> cases[] = {
      {"clients = 0", "from 1"},
      {"clients = 2.5", "whole number"},
      {"clients = 'five'", "whole number"},
      {"batch = -3", "from 1"},
      {"learning-rate = 0", "above 0"},
      {"learning-rate = nan", "above 0"},
      {"learning-rate = inf", "number"},
      {"tolerance = -1", "above 0"},
      {"tolerance = 'automatic'", "a number above 0, or auto"},
      {"quiet = 1", "true or false"},
      {"dataset = 3", "text"},
      {"seed = -1", "from 0"},
      {"rounds = [1, 2]", "one value"},
      {"validation-fraction = 1.0", "below 1"},
      {"weights = 'size'", "examples, equal"},
      {"partition = 'interpolated'\nrandom-fraction = 1.5", "from 0 to 1"},
      {"[table]\nx = 1", "table"},
      {"rounds = ", "line 1"},
      {"rounds = 1\nrounds = 2", "line 2"},
      {"optimizer = 3", "adadp, sgd"},
      {"optimizer = 'agd'", "'sgd'"},
      {"partition = 'pathologic'", "pathological"},
  };
  for (const auto& [file, expected] : cases) {
    CAPTURE(file);
    CHECK_THROWS_WITH_AS(from(file), doctest::Contains(expected), Error);
  }
  for (const char* text : {"", "abc", "1x", "nan", "-0.1", "1e999", " 1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(resolve({{"learning-rate", typed(text)}}), Error);
  }
}

TEST_CASE("a setting of another optimiser is refused, unless the command line replaced the file's optimiser") {
  CHECK_THROWS_WITH_AS(from("optimizer = 'sgd'\ntolerance = 0.2"), doctest::Contains("does not go with optimizer 'sgd'"), Error);
  Settings settings = parse_settings("optimizer = 'adadp'\ntolerance = 0.2\nlearning-rate = 0.3", "file");
  settings["optimizer"] = typed("sgd");
  const Configuration configuration = resolve(settings);
  CHECK(configuration.optimizer.as<Sgd>()->initial_rate == 0.3);
  settings["tolerance"] = typed("0.4");
  CHECK_THROWS_AS(resolve(settings), Error);
}

TEST_CASE("the command line wins over the file") {
  Settings settings = parse_settings("rounds = 3\nseed = 4", "file");
  settings["rounds"] = typed("5");
  CHECK(resolve(settings).rounds == 5);
  CHECK(resolve(settings).seed == 4);
}

TEST_CASE("no two families share a key, and no key is documented twice") {
  std::set<std::string> names;
  for (const KeyInfo& key : all_keys()) {
    CAPTURE(key.name);
    CHECK(names.insert(key.name).second);
    CHECK_FALSE(key.help.empty());
  }
  const Configuration configuration;
  std::set<std::string> of_earlier_families;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    std::set<std::string> own{std::string(chosen->family().key())};
    for (const auto& part : chosen->family().parts())
      for (const SettingInfo& setting : part->settings()) own.emplace(setting.name);
    for (const auto& name : own) CHECK(of_earlier_families.insert(name).second);
  }
}

}  // namespace fedstride::test::configuration_test

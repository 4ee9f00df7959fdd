#include "sim/settings/configuration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "client/optim/adadp.hpp"
#include "client/optim/sgd.hpp"
#include "partitions/from_file.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::configuration_test {
namespace {

Configuration from(const std::string& toml) { return resolve(parse_settings(toml, "test.toml")); }
std::string again(const std::string& toml) {
  const Settings settings = parse_settings(toml, "test.toml");
  return write_settings(resolve(settings), settings);
}
Setting typed(const std::string& text) { return {text, true}; }

}  // namespace

TEST_CASE("the defaults are the paper's pathological federation on the built-in data, and its optimizer is one word away") {
  const Configuration configuration = from("");
  CHECK(configuration.dataset == "synthetic");
  CHECK(configuration.clients == 5);
  CHECK(configuration.batch == 10);
  CHECK(configuration.local_epochs == 1);
  CHECK(configuration.model == "auto");  // for these images adadp-cnn (automatic_choices_test.cpp)
  CHECK(configuration.partition.name() == "pathological");
  const Configuration paper = from("optimizer = 'adadp'");
  CHECK(identity_settings(paper).empty());
  CHECK(paper.optimizer.as<Adadp>()->tolerance.value == 0.1);
}

TEST_CASE("written settings can be read, and are written the same again") {
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
      "model = 'logistic'\ninitialization = 'glorot'\nfreeze = 'fc1'\nlocal-epochs = 4\nclient-state = 'reset'\n"
      "weights = 'equal'\nevaluate-every = 2\nseed = 5\nthreads = 6\nquiet = true\nout = 'there'\noptimizer = 'adam'\n"
      "beta1 = 0.8\npartition = 'shards'\nshards-per-client = 3\n");
  for (const char* line : {"rounds = 3",
                           "batch = 7",
                           "augment = 'crop-flip'",
                           "validation-fraction = 0.25",
                           "clients = 9",
                           "limit-per-client = 11",
                           "model = 'logistic'",
                           "initialization = 'glorot'",
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

TEST_CASE("a bound on updates is a key like the others, and its rule has an effect only with a bound") {
  const std::string text = again("max-update-norm = 3\nover-norm = 'clip'");
  CHECK(text.find("max-update-norm = 3.0") != std::string::npos);
  CHECK(text.find("over-norm = 'clip'") != std::string::npos);
  CHECK(again(text) == text);
  Configuration unread;
  unread.over_norm = OverNorm::clip;
  CHECK(write_settings(determining(unread), {}) == write_settings(determining(Configuration()), {}));
}

TEST_CASE("a setting that another leaves without effect is refused, with the values of the other that read it") {
  CHECK_USAGE_ERROR(from("over-norm = 'clip'"), "over-norm", "'clip'", "max-update-norm 0");
  CHECK_USAGE_ERROR(from("optimizer = 'sgd'\ndecay = 0.5"), "decay", "0.5", "schedule 'constant'", "schedule inverse");
  CHECK_USAGE_ERROR(from("secure-dropouts = 0.3"), "secure-dropouts", "secure-aggregation 'none'", "real");
  CHECK_USAGE_ERROR(from("dp = 'client'\nnoise-multiplier = 1.0\nclip-rule = 'fixed'\nclip-quantile = 0.3"), "clip-quantile",
                    "clip-rule 'fixed'", "clip-rule adaptive");
  // A file of a run lists every setting, read or not.
  CHECK(from("optimizer = 'sgd'\ndecay = 0.1").optimizer.name() == "sgd");
}

TEST_CASE("a file's setting is ignored where the command line chose what leaves it without effect") {
  Settings settings = parse_settings("optimizer = 'sgd'\nschedule = 'linear'\nfinal-learning-rate = 0.5", "test.toml");
  settings["schedule"] = {std::string("constant"), true};
  const std::string text = write_settings(resolve(settings), {});
  CHECK(text.find("final-learning-rate = 0.001") != text.npos);
  CHECK(again(text) == text);
}

TEST_CASE("only input paths become absolute") {
  const Configuration relative = from(
      "data-dir = 'a/../b'\ninit = 'c.safetensors'\npartition = 'file'\npartition-file = './d.json'\nout = 'e'\n"
      "data = 'f.csv'");
  const Configuration absolute = with_absolute_paths(relative);
  const std::string here = std::filesystem::current_path().string();
  CHECK(absolute.data_dir == here + "/b");
  CHECK(absolute.init == here + "/c.safetensors");
  CHECK(absolute.partition.as<FromFile>()->partition_file == here + "/d.json");
  CHECK(absolute.out == "e");
  CHECK(absolute.data == here + "/f.csv");
  CHECK(with_absolute_paths(from("")).data_dir.empty());
  CHECK(write_settings(with_absolute_paths(absolute), {}) == write_settings(absolute, {}));
}

TEST_CASE("a cohort larger than the federation is refused, on the command line, in a file and from code") {
  CHECK_USAGE_ERROR(from("cohort = 'fixed'\ncohort-size = 6"), "cohort-size", "6", "5");
  CHECK_THROWS_AS(from("cohort = 'fixed'"), Error);  // the default is 10
  CHECK(from("cohort = 'fixed'\ncohort-size = 5").cohort->rate(5) == 1);
  Configuration made = from("cohort = 'fixed'\ncohort-size = 5");
  made.clients = 4;
  CHECK_THROWS_AS(check_together(made), Error);
}

TEST_CASE("an output folder given on the command line is not part of the resolved file") {
  const Settings settings{{"out", typed("runs/here")}, {"quiet", {true, true}}};
  const std::string text = write_settings(resolve(settings), settings);
  CHECK(text.find("\nout = ") == std::string::npos);
  CHECK(text.find("\nquiet = ") == std::string::npos);
}

TEST_CASE("an unknown key names the nearest valid one, and its line") {
  CHECK_USAGE_ERROR(from("\nlerning-rate = 1"), "test.toml", "line 2", "lerning-rate", "learning-rate");
  CHECK_USAGE_ERROR(resolve({{"cliens", typed("3")}}), "cliens", "clients");
}

TEST_CASE("values of the wrong kind, out of range or not finite are refused with what would be valid") {
  struct Case {
    const char* file;
    std::vector<std::string_view> parts;
  };
  const Case cases[] = {
      {"clients = 0", {"clients", "0", "1"}},
      {"partition = 'square'", {"partition", "'square'", "'sizes'"}},
      {"clients = 2.5", {"clients", "2.5", "0", "10000000"}},
      {"clients = 'five'", {"clients", "five", "0", "10000000"}},
      {"batch = -3", {"batch", "-3", "1", "1000000"}},
      {"learning-rate = 0", {"learning-rate", "0"}},
      {"learning-rate = nan", {"learning-rate", "nan", "0"}},
      {"learning-rate = inf", {"learning-rate", "inf", "0"}},
      {"tolerance = -1", {"tolerance", "-1", "0"}},
      {"tolerance = 'automatic'", {"tolerance", "automatic", "0", "auto"}},
      {"quiet = 1", {"quiet", "1", "true", "false"}},
      {"dataset = 3", {"dataset", "3"}},
      {"seed = -1", {"seed", "-1", "0"}},
      {"rounds = [1, 2]", {"test.toml", "line 1", "rounds", "[sweep]"}},
      {"rounds = 1.0", {"rounds", "1.0", "write 1"}},
      {"dp = true", {"dp", "'true'", "none, example, client, both, user"}},
      {"validation-fraction = 1.0", {"validation-fraction", "1", "0"}},
      {"weights = 'size'", {"weights", "size", "examples", "equal"}},
      {"partition = 'interpolated'\nrandom-fraction = 1.5", {"random-fraction", "1.5", "0", "1"}},
      {"[table]\nx = 1", {"test.toml", "line 1", "table"}},
      {"rounds = ", {"test.toml", "line 1"}},
      {"rounds = 1\nrounds = 2", {"test.toml", "line 2", "rounds"}},
      {"optimizer = 3", {"optimizer", "3", "adadp", "sgd"}},
      {"optimizer = 'agd'", {"optimizer", "agd", "sgd"}},
      {"partition = 'pathologic'", {"partition", "pathologic", "pathological"}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.file);
    for (const std::string_view part : one.parts) CHECK_USAGE_ERROR(from(one.file), part);
  }
  for (const char* text : {"", "abc", "1x", "nan", "-0.1", "1e999", " 1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(resolve({{"learning-rate", typed(text)}}), Error);
  }
}

TEST_CASE("a setting of another optimizer is refused, unless the command line replaced the file's optimizer") {
  CHECK_USAGE_ERROR(from("optimizer = 'sgd'\ntolerance = 0.2"), "tolerance", "optimizer", "sgd", "adadp");
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

TEST_CASE("a setting that several parts of a family have is the same for all: its help is shown once") {
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    std::map<std::string_view, std::pair<const SettingInfo*, std::string_view>> first;
    for (const auto& part : chosen->family().parts())
      for (const SettingInfo& setting : part->settings()) {
        const auto& [shown, other] = first.try_emplace(setting.name, &setting, part->name()).first->second;
        CHECK_MESSAGE((shown->help == setting.help && shown->valid_text() == setting.valid_text()), chosen->family().key(), " '",
                      part->name(), "' has '", setting.name, "' with another help or range than '", other,
                      "'; the help shows only the first, so share the text (a constant) or rename the setting");
      }
  }
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

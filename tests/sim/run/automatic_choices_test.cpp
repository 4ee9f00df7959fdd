// What a run decides if its settings leave it open, and that it says so.
#include <doctest/doctest.h>

#include <algorithm>

#include "client/optim/pooled.hpp"
#include "core/files.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "sim/run/results.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::automatic_choices_test {
namespace {

/// Twelve rows; x has that type and shape, and y three classes, or that text.
Settings own_file(const TemporaryFolder& folder, const std::string& name, const char* type, const std::string& each,
                  const std::string& x, const std::string& y = "") {
  const std::vector<std::int64_t> labels{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
  write(folder / (name + ".npz"), npz_bytes({{"x", npy_bytes(type, "(12, " + each + ")", x)},
                                             {"y", y.empty() ? npy_bytes("<i8", "(12,)", bytes_of(labels)) : y}}));
  return parse_settings("data = '" + (folder / (name + ".npz")) +
                            "'\npartition = 'iid'\nclients = 2\nrounds = 1\noptimizer = 'sgd'\nthreads = 1\nout = '" +
                            (folder / name) + "'\n",
                        "test");
}

bool says(const std::vector<std::string>& notes, std::initializer_list<std::string_view> words) {
  return std::ranges::count_if(notes, [&](const std::string& note) { return names(note, words); }) == 1;
}

}  // namespace

TEST_CASE("model auto is one that can read the examples, is said, and is the same run as that model by its name") {
  const TemporaryFolder folder;
  struct Case {
    Settings settings;
    std::string model;
  };
  const auto tokens = [](int vocabulary) {
    std::vector<std::int32_t> some;
    for (int i = 0; i < 12 * 5; ++i) some.push_back(i % vocabulary);
    return bytes_of(some);
  };
  std::vector<float> numbers;
  for (int i = 0; i < 12 * 4; ++i) numbers.push_back(static_cast<float>(i) * 0.37F);
  const Case cases[] = {
      {own_file(folder, "images", "|u1", "16, 16, 3", std::string(12 * 768, 'a')), "adadp-cnn"},
      {own_file(folder, "small", "|u1", "8, 8", std::string(12 * 64, 'a')), "adadp-mlp"},
      {own_file(folder, "rows", "<f4", "4", bytes_of(numbers)), "covertype-mlp"},
      {own_file(folder, "tokens", "<i4", "5", tokens(7)), "leaf-lstm"},
      {own_file(folder, "next", "<i4", "5", tokens(7), npy_bytes("<i4", "(12, 5)", tokens(6))), "shakespeare-lstm"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.model);
    const Setup automatic = prepare(resolve(one.settings));
    CHECK(says(automatic.notes, {"model auto", one.model, "--model"}));
    CHECK(automatic.configuration.model == one.model);
    Settings named = one.settings;
    named["model"] = {one.model};
    const Setup by_name = prepare(resolve(named));
    CHECK(automatic.model.line() == by_name.model.line());
    CHECK(automatic.initial == by_name.initial);
    CHECK(identity(automatic) == identity(by_name));
    CHECK(std::ranges::none_of(by_name.notes, [](const std::string& note) { return names(note, {"model auto"}); }));
  }
}

TEST_CASE("what decisions a run made about its data stands in its summary") {
  const TemporaryFolder folder;
  std::vector<float> numbers;
  for (int i = 0; i < 12 * 4; ++i) numbers.push_back(static_cast<float>(i) * 0.37F);
  start(own_file(folder, "rows", "<f4", "4", bytes_of(numbers)));
  const Json summary = Json::parse(read_file(folder / "rows/summary.json"));
  const auto notes = summary["notes"].get<std::vector<std::string>>();
  for (const char* setting : {"model", "targets", "normalize", "format"}) CHECK(says(notes, {std::string(setting) + " auto: "}));
  CHECK(summary["metric"] == "accuracy");
}

TEST_CASE("identities have the settings that are no defaults, of the run and of its parts") {
  CHECK(identity_settings(Configuration{}).empty());
  CHECK(identity_settings(resolve({})) == "optimizer = 'pooled'\nserver-optimizer = 'restore'\n");
  const char* given =
      "clients = 5\nmissing = 'zero'\ndata = 'x.csv'\noptimizer = 'sgd'\nlearning-rate = 0.5\nweight-decay = 0.0\nout = 'x'\n";
  const std::string text = identity_settings(resolve(parse_settings(given, "test")));
  CHECK(text == "dataset = 'file'\ndata = 'x.csv'\nmissing = 'zero'\noptimizer = 'sgd'\nlearning-rate = 0.5\n");
  const Settings other{{"optimizer", {std::string("sgd")}}};
  CHECK(identity_settings(resolve(other)) == "optimizer = 'sgd'\n");
}

TEST_CASE("under dp no row may be dropped or refused for what it misses") {
  for (const std::string missing : {"drop", "error"}) {
    const Settings settings = parse_settings(
        "data = 'x.csv'\ndp = 'example'\nnoise-multiplier = 1.0\noptimizer = 'sgd'\nmissing = '" + missing + "'\n", "test");
    CHECK_USAGE_ERROR(resolve(settings), "missing", "'" + missing + "'", "dp", "zero, indicator");
  }
}

TEST_CASE("R2 is nowhere called accuracy: rounds, summary, clients, evaluation") {
  const TemporaryFolder folder;
  std::string text = "who,a,price\n";
  for (int row = 0; row < 60; ++row)
    text += "n" + std::to_string(row % 3) + "," + std::to_string(row * 7 % 13) + "," +
            std::to_string((row * 7 % 13) * 0.3 + 0.25) + "\n";
  write(folder / "d.csv", text);
  const Settings settings = parse_settings(
      "data = '" + (folder / "d.csv") + "'\nclient-column = 'who'\npartition = 'natural'\nrounds = 2\nevaluate-every = 2\n" +
          "validation-fraction = 0.2\nclient-test = 0.25\noptimizer = 'sgd'\nlearning-rate = 0.01\nthreads = 1\nout = '" +
          (folder / "run") + "'\n",
      "test");
  start(settings);
  const std::string rounds = read_file(folder / "run/rounds.jsonl"), summary = read_file(folder / "run/summary.json");
  CHECK(rounds.find("accuracy") == rounds.npos);
  CHECK(summary.find("accuracy") == summary.npos);
  const std::vector<Json> all = lines(folder / "run/rounds.jsonl");
  CHECK(all[0]["test_r2"].is_null());
  CHECK(all[1]["test_r2"] == Json::parse(summary)["test_r2"]);
  CHECK(all[1]["validation_r2"].is_number());
  CHECK(all[1]["own_r2_p50"].is_number());
  CHECK(all[1]["clients"][0]["own_r2"].is_number());
  CHECK(Json::parse(summary)["metric"] == "R2");
  const Json evaluated = Json::parse(evaluation_json(evaluate_file(folder / "run", "", {}, false, 1)));
  CHECK(evaluated["r2"] == all[1]["test_r2"]);
  CHECK_FALSE(evaluated.contains("accuracy"));
  const Json clients = Json::parse(clients_json(evaluate_clients(folder / "run", "", 0, 1)));
  CHECK(clients["global"]["r2"]["mean"].is_number());
  CHECK_FALSE(clients["global"].contains("accuracy"));
}

TEST_CASE(
    "a model knows the words of its columns: other files are read with them, and none of them is a word of another column") {
  const TemporaryFolder folder;
  write(folder / "d.csv", "city,x,label\nRome,1,0\nOslo,2,1\nBern,3,0\nRome,4,1\nOslo,5,0\nBern,6,1\nRome,7,0\nOslo,8,1\n");
  start(parse_settings("data = '" + (folder / "d.csv") + "'\npartition = 'iid'\nclients = 1\nrounds = 1\noptimizer = 'sgd'\n" +
                           "model = 'logistic'\nthreads = 1\nout = '" + (folder / "run") + "'\n",
                       "test"));
  const auto evaluated = [&](const std::string& text) {
    return evaluate_file(folder / "run", "", {.data = write(folder / "other.csv", text).string(), .read = {}}, true, 1);
  };
  CHECK(evaluated("city,x,label\nOslo,2,1\nOslo,3,0\nRome,3,1\n").model.form().shape.channels == 4);
  CHECK_FAILURE(evaluated("city,x,label\nOslo,2,1\nLund,3,0\nRome,3,1\n"), "'Lund'", "Bern, Oslo, Rome");
}

TEST_CASE("the optimizers of a run that names none are those of the same run that names them, and stay when it is prolonged") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string restore = "server-optimizer = 'restore'\n";
  const std::string noise = "tolerance-schedule = 'constant'\nclip-rule = 'scaled'\nserver-schedule = 'noise'\n";
  const std::string clients = "client-noise-multiplier = 1\n";
  struct Case {
    std::string name, privacy, chosen;
  };
  const Case cases[] = {{"none", "", restore},
                        {"example", "dp = 'example'\nnoise-multiplier = 1\n", restore},
                        {"client", "dp = 'client'\nnoise-multiplier = 1\n", noise},
                        {"both", "dp = 'both'\nnoise-multiplier = 1\n" + clients, noise}};
  for (const auto& [name, privacy, chosen] : cases) {
    CAPTURE(name);
    Settings open = settings_for(folder, name, privacy + "rounds = 3\n");
    open.erase("optimizer");
    const Settings named = settings_for(folder, name + "-named", privacy + chosen + "optimizer = 'pooled'\nrounds = 3\n");
    start(open);
    start(named);
    CHECK(hashes(folder / name) == hashes(folder / (name + "-named")));
    Settings again = read_settings(folder / (name + "/config.toml"));
    CHECK(std::get<std::string>(again["optimizer"].value) == "pooled");
    CHECK(resume(folder / name, {{"rounds", {std::string("5"), true}}}).rounds == 5);
    CHECK(read_settings(folder / (name + "/config.toml"))["optimizer"].value == again["optimizer"].value);
  }
}

TEST_CASE("where the first choice is refused a run says so, and how to choose; initial weights of 0 name a way out") {
  const TemporaryFolder folder;
  write_data(folder);
  Settings median = settings_for(folder, "median", "aggregation = 'median'\nrounds = 1\n");
  median.erase("optimizer");
  start(median);
  const auto notes = Json::parse(read_file(folder / "median/summary.json"))["notes"].get<std::vector<std::string>>();
  CHECK(says(notes, {"optimizer auto: ", "pooled", "average", "restore", "median", "--optimizer"}));

  CHECK_USAGE_ERROR(Pooled{}.begin_pool({.start_norm = 0}), "0", "pooled", "--optimizer");
}

}  // namespace fedstride::test::automatic_choices_test

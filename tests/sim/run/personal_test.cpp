// Personal models in whole runs: their reports, refused settings, and the unchanged federation's model.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "nn/safetensors.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::personal_test {
namespace {

constexpr const char* kSettings =
    "optimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 5\nclients = 6\nrounds = 4\npartition = 'shards'\nclient-test = 0.25\n";
constexpr const char* kColumns[] = {"personal_accuracy",     "personal_accuracy_deviation", "personal_accuracy_p10",
                                    "personal_accuracy_p50", "personal_accuracy_p90",       "personal_accuracy_worst_tenth",
                                    "personal_loss"};

Settings settings_with(const TemporaryFolder& folder, const std::string& out, const std::string& more) {
  Settings settings = settings_for(folder, out, kSettings);
  for (const auto& [key, setting] : parse_settings(more, "test")) settings[key] = setting;
  return settings;
}

}  // namespace

TEST_CASE("evaluated rounds report personal models, each on its client's own test rows") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_with(folder, "none", ""));
  for (const std::string name : {"fine-tune", "ditto", "local-layers"}) {
    CAPTURE(name);
    start(settings_with(folder, name, "personal = '" + name + "'\nevaluate-every = 3\n"));
    const auto rounds = lines(folder / name + "/rounds.jsonl");
    REQUIRE(rounds.size() == 4);
    for (const Json& round : rounds) {
      const bool evaluates = round["round"] == 3 || round["round"] == 4;
      for (const char* column : kColumns) CHECK(round.contains(column) == evaluates);
      double mean = 0;
      for (const Json& client : round["clients"]) {
        CHECK(client.contains("personal_accuracy") == evaluates);
        if (evaluates) mean += client["personal_accuracy"].get<double>() / 6;
      }
      if (!evaluates) continue;
      CHECK(round["personal_accuracy"] == doctest::Approx(mean));
      CHECK(round["personal_accuracy"] > round["own_accuracy"]);  // its clients have a class or two each
    }
    if (name != "local-layers") CHECK(hashes(folder / name) == hashes(folder / "none"));
  }
  for (const Json& round : lines(folder / "none/rounds.jsonl")) CHECK_FALSE(round.contains("personal_accuracy"));
}

TEST_CASE("personal models of numbers have an R2, compared with the mean over all clients' rows as the federation's model") {
  const TemporaryFolder folder;
  std::ofstream(folder / "d.csv") << [] {
    std::string text = "who,a,price\n";
    for (int row = 0; row < 60; ++row) {
      const double a = (row * 7 % 13) / 4.0;
      text += "n" + std::to_string(row % 3) + "," + std::to_string(a) + "," + std::to_string((row % 3 - 1) * a + 0.5) + "\n";
    }
    return text;
  }();
  for (const std::string name : {"fine-tune", "ditto"}) {
    CAPTURE(name);
    start(parse_settings("data = '" + (folder / "d.csv") + "'\nclient-column = 'who'\npartition = 'natural'\nrounds = 20\n" +
                             "model = 'dense outputs'\noptimizer = 'sgd'\nlearning-rate = 0.1\npersonal = '" + name +
                             "'\nclient-test = 0.25\nout = '" + (folder / name) + "'\n",
                         "test"));
    const Json last = lines(folder / name + "/rounds.jsonl").back();
    double mean = 0;
    for (const Json& client : last["clients"]) {
      // R2 = 1 - loss / variation, of the same rows.
      const double variation = client["own_loss"].get<double>() / (1 - client["own_r2"].get<double>());
      const double expected = 1 - client["personal_loss"].get<double>() / variation;
      CHECK(client["personal_r2"].get<double>() == doctest::Approx(expected));
      mean += expected / 3;
    }
    CHECK(last["personal_r2"].get<double>() == doctest::Approx(mean));
    CHECK(last["personal_r2"] > last["own_r2"]);  // each client's slope is another
    const ClientsEvaluation result = evaluate_clients(folder / name, "", 0, 1);
    if (name == "ditto")
      for (std::size_t client = 0; client < 3; ++client)
        CHECK(result.personal[client].accuracy == doctest::Approx(last["clients"][client]["personal_r2"].get<double>()));
  }
}

TEST_CASE("evaluate tests the clients' kept models and the federation's, and changes nothing in the folder") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_with(folder, "run", "personal = 'ditto'\n"));
  const std::string states = read_file(folder / "run/states/1-of-1");
  const ClientsEvaluation result = evaluate_clients(folder / "run", "", 0, 1);
  CHECK(read_file(folder / "run/states/1-of-1") == states);
  const Json last = lines(folder / "run/rounds.jsonl").back();
  REQUIRE(result.personal.size() == 6);
  for (std::size_t client = 0; client < 6; ++client) {
    CHECK(last["clients"][client]["personal_accuracy"] == doctest::Approx(result.personal[client].accuracy));
    CHECK(last["clients"][client]["own_accuracy"] == doctest::Approx(result.global[client].accuracy));
  }

  // A run that was killed in a later session has kept more than its model knows of.
  const std::string model = read_file(folder / "run/model.safetensors");
  resume(folder / "run", {{"rounds", {std::string("5"), true}}});
  write_file(folder / "run/model.safetensors", model);
  CHECK_FAILURE(evaluate_clients(folder / "run", "", 0, 1), folder / "run", "round 4", "round 5");

  // An attacker falsifies what it sends, and not its own model.
  start(settings_with(folder, "attacked", "personal = 'fine-tune'\nattack = 'sign-flip'\nattackers = 6\n"));
  const ClientsEvaluation tuned = evaluate_clients(folder / "attacked", "", 1, 1);
  start(settings_with(folder, "honest", "personal = 'fine-tune'\n"));
  write_file(folder / "honest/model.safetensors", read_file(folder / "attacked/model.safetensors"));
  const ClientsEvaluation same = evaluate_clients(folder / "honest", "", 1, 1);
  for (std::size_t client = 0; client < 6; ++client) {
    CHECK(tuned.personal[client].loss == same.personal[client].loss);
    CHECK(tuned.fine_tuned[client].loss == same.personal[client].loss);
  }
}

TEST_CASE("without test rows personal models are trained and kept but not reported; a cohort's report covers the cohort only") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_with(folder, "untested", "personal = 'ditto'\nclient-test = 0.0\n"));
  for (const Json& round : lines(folder / "untested/rounds.jsonl")) CHECK_FALSE(round.contains("personal_accuracy"));
  start(settings_with(folder, "some", "personal = 'ditto'\ncohort = 'fixed'\ncohort-size = 2\n"));
  for (const Json& round : lines(folder / "some/rounds.jsonl")) {
    REQUIRE(round["clients"].size() == 2);
    CHECK(round["personal_accuracy"] == doctest::Approx((round["clients"][0]["personal_accuracy"].get<double>() +
                                                         round["clients"][1]["personal_accuracy"].get<double>()) /
                                                        2));
  }
}

TEST_CASE("layers that stay with clients never change at the server, not even by noise of protected clients") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::vector<std::string> levels{
      "", "dp = 'client'\nclip = 0.5\nnoise-multiplier = 1.0\n",
      "dp = 'client'\nclip = 0.5\nnoise-multiplier = 1.0\nclient-noise = 'local'\nclip-per = 'layer'\n",
      "dp = 'example'\nclip = 0.5\nnoise-multiplier = 1.0\nserver-optimizer = 'adam'\n", "attack = 'gaussian'\nattackers = 2\n"};
  int number = 0;
  for (const std::string& level : levels) {
    CAPTURE(level);
    const Settings settings = settings_with(folder, std::to_string(++number), "personal = 'local-layers'\n" + level);
    const Setup setup = prepare(resolve(settings));
    start(settings);
    const Vector model =
        exact(setup.model, read_safetensors(std::filesystem::path(folder / std::to_string(number)) / "model.safetensors"));
    bool moved = false;
    for (const Parameter& parameter : setup.model.parameters())
      for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
        if (parameter.name.starts_with("fc2"))
          REQUIRE(model[i] == setup.initial[i]);
        else
          moved = moved || model[i] != setup.initial[i];
      }
    CHECK(moved);
  }
}

TEST_CASE("settings that do not go with layers that stay with clients are refused in one line") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string base = "optimizer = 'sgd'\npersonal = 'local-layers'\n";
  const auto prepared = [&](const std::string& more) { return prepare(resolve(settings_for(folder, "x", more))); };
  CHECK_NOTHROW(prepared(base));
  CHECK_NOTHROW(prepared(base + "local-layers = 'fc1'\nfreeze = ''\n"));
  CHECK_USAGE_ERROR(prepared(base + "local-objective = 'scaffold'\n"), "personal", "local-layers", "local-objective 'scaffold'",
                    "local-objective plain", "personal none, fine-tune, ditto");
  CHECK_USAGE_ERROR(prepared(base + "local-layers = 'fc1,fc2'\n"), "local-layers", "fc1,fc2");
  CHECK_USAGE_ERROR(prepared(base + "freeze = 'fc1'\n"), "local-layers", "last");
  CHECK_USAGE_ERROR(prepared(base + "local-layers = 'fc3'\n"), "fc3", "fc1", "fc2");
  CHECK_USAGE_ERROR(prepared(base + "local-layers = 'fc2'\nfreeze = 'fc2'\n"), "local-layers", "fc2", "freeze");
  CHECK_USAGE_ERROR(prepared(base + "local-first = 1\n"), "local-first", "1", "local-epochs 1");
  CHECK_NOTHROW(prepared(base + "local-first = 1\nlocal-epochs = 2\n"));
  CHECK_USAGE_ERROR(prepared("optimizer = 'sgd'\nditto-lambda = 1.0\n"), "ditto-lambda", "personal", "none");
}

TEST_CASE("under privacy reports on personal models are not covered, and never published") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string level : {"example", "client"})
    for (const std::string name : {"fine-tune", "ditto", "local-layers"}) {
      CAPTURE(level + " " + name);
      const std::string settings =
          "rounds = 2\ndp = '" + level + "'\nclip = 0.5\nnoise-multiplier = 1.0\npersonal = '" + name + "'\n";
      const std::string out = level + "-" + name;
      start(settings_with(folder, out, settings));
      for (const Json& round : lines(folder / out + "/rounds.jsonl")) {
        CHECK(round.contains("personal_accuracy"));
        const auto uncovered = round["not_covered"].get<std::vector<std::string>>();
        for (const std::string column :
             {"personal_accuracy", "personal_loss", "clients.personal_accuracy", "clients.personal_loss"})
          CHECK(std::ranges::find(uncovered, column) != uncovered.end());
      }
      start(settings_with(folder, out + "-published", settings + "publishable = true\nrandomness = 'secret'\n"));
      for (const Json& round : lines(folder / out + "-published/rounds.jsonl"))
        CHECK(round.dump().find("personal") == std::string::npos);
    }
}

TEST_CASE("a second pass in private training does not change the releases") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string level = "dp = 'example'\nclip = 0.5\nnoise-multiplier = 1.0\nrandomness = 'seeded'\nbatch = 30\n";
  start(settings_with(folder, "none", level));
  for (const std::string name : {"fine-tune", "ditto"}) {
    start(settings_with(folder, name, level + "personal = '" + name + "'\n"));
    // The noise follows from all settings, so the models differ; the releases do not.
    const auto with = lines(folder / name + "/rounds.jsonl"), without = lines(folder / "none/rounds.jsonl");
    for (std::size_t round = 0; round < with.size(); ++round)
      for (std::size_t client = 0; client < 6; ++client)
        for (const char* column : {"releases", "steps", "rows"})
          CHECK(with[round]["clients"][client][column] == without[round]["clients"][client][column]);
  }
}

TEST_CASE("FedRep with momentum that is kept: the same bits on 1 and 8 threads, and resumed") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string more =
      "personal = 'local-layers'\nlocal-epochs = 2\nlocal-first = 1\noptimizer = 'adam'\nclient-state = 'keep'\nlearning-rate = "
      "0.01\n";
  start(settings_with(folder, "one", more + "threads = 1\n"));
  start(settings_with(folder, "eight", more + "threads = 8\n"));
  start(settings_with(folder, "broken", more + "rounds = 2\n"));
  resume(folder / "broken", {{"rounds", {"4", true}}});
  CHECK(hashes(folder / "eight") == hashes(folder / "one"));
  CHECK(hashes(folder / "broken") == hashes(folder / "one"));
  for (const char* other : {"eight", "broken"})
    for (std::size_t round : {0, 1, 2, 3})
      CHECK(lines(folder / other + "/rounds.jsonl")[round]["personal_loss"] ==
            lines(folder / "one/rounds.jsonl")[round]["personal_loss"]);
}

TEST_CASE("evaluate works with the federation's model only") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_with(folder, "a", "personal = 'local-layers'\n"));
  const ClientsEvaluation result = evaluate_clients(folder / "a", "", 1, 1);
  CHECK(result.global.size() == 6);
  CHECK(result.fine_tuned.size() == 6);
}

}  // namespace fedstride::test::personal_test

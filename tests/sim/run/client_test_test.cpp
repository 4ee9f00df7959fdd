// Clients with their own test rows.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::client_test_test {
namespace {

constexpr const char* kSettings =
    "optimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 5\npartition = 'pathological'\nclasses-per-client = 1\nclient-test = 0.25\n";

}  // namespace

TEST_CASE("a share of each client's rows is used only to test it, the same on every machine") {
  const TemporaryFolder folder;
  write_data(folder);
  const Setup whole = prepare(resolve(settings_for(folder, "x", "partition = 'pathological'\nclasses-per-client = 1\n")));
  const Setup setup = prepare(resolve(settings_for(folder, "x", kSettings)));
  for (std::size_t client = 0; client < 3; ++client) {
    const auto rows = setup.clients.rows[client], test = setup.clients.test[client];
    CHECK(test.size() == 15);
    CHECK(setup.clients.row_counts[client] == 45);
    std::vector<Row> both(rows.begin(), rows.end());
    both.insert(both.end(), test.begin(), test.end());
    std::ranges::sort(both);
    CHECK(std::ranges::equal(both, whole.clients.rows[client]));
  }
  CHECK(prepare(resolve(settings_for(folder, "x", kSettings))).clients.test == setup.clients.test);
  const Setup most =
      prepare(resolve(settings_for(folder, "x", std::string(kSettings) + "clients = 100\nlimit-per-client = 1\n")));
  CHECK(most.clients.test.row_count() == 0);  // one row is left to train on
}

TEST_CASE("metrics are in the evaluated rounds if they are asked for, and the last ones are those of evaluate") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string settings = std::string(kSettings) + "evaluate-every = 2\n";
  start(settings_for(folder, "a", settings + "metrics = true\n"));
  start(settings_for(folder, "b", settings));
  const auto rounds = lines(folder / "a/rounds.jsonl"), without = lines(folder / "b/rounds.jsonl");
  CHECK_FALSE(rounds[0].contains("test_macro_f1"));
  CHECK_FALSE(without.back().contains("test_macro_f1"));
  CHECK(rounds.back()["model_hash"] == without.back()["model_hash"]);
  const Json evaluated = parse_json(evaluation_json(evaluate_file(folder / "a", "", {}, false, 1)));
  for (const auto& [name, value] : evaluated["metrics"].items()) {
    if (name == "classes") continue;
    CHECK_MESSAGE(rounds.back()["test_" + name] == value, name);
  }
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "c",
                                         settings + "metrics = true\ndp = 'example'\nnoise-multiplier = 1\n"
                                                    "evaluate = 'private'\nevaluate-noise = 1\n")),
                    "metrics", "evaluate 'private'");
}

TEST_CASE("every evaluation reports accuracy on clients' own rows, and evaluate reports it for each client") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", std::string(kSettings) + "evaluate-every = 3\n"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK_FALSE(rounds[0].contains("own_accuracy"));
  const Json& last = rounds.back();
  const ClientsEvaluation result = evaluate_clients(folder / "a", "", 2, 2);
  double mean = 0;
  for (std::size_t client = 0; client < 3; ++client) {
    CHECK(result.global[client].examples == 15);
    CHECK(last["clients"][client]["own_accuracy"] == doctest::Approx(result.global[client].accuracy));
    CHECK(last["clients"][client]["own_loss"] == doctest::Approx(result.global[client].loss));
    mean += result.global[client].accuracy / 3;
    CHECK(result.fine_tuned[client].accuracy == 1);  // its rows have one class
  }
  CHECK(last["own_accuracy"] == doctest::Approx(mean));
  for (const char* key : {"own_accuracy_deviation", "own_accuracy_p10", "own_accuracy_p50", "own_accuracy_p90",
                          "own_accuracy_worst_tenth", "own_loss"})
    CHECK(last[key].is_number());
  std::uint64_t examples = 0, right = 0;
  for (std::size_t c = 0; c < result.metrics.confusion.size(); ++c)
    for (std::size_t k = 0; k < result.metrics.confusion.size(); ++k) {
      examples += result.metrics.confusion[c][k];
      right += c == k ? result.metrics.confusion[c][k] : 0;
    }
  CHECK(examples == 60);
  CHECK(static_cast<double>(right) / 60 == doctest::Approx(last["test_accuracy"].get<double>()));
  CHECK(Json::parse(clients_json(result))["fine_tuned"]["clients"].size() == 3);
}

TEST_CASE("clients without their own test rows cannot be evaluated") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "optimizer = 'sgd'\nrounds = 1\n"));
  CHECK_USAGE_ERROR(evaluate_clients(folder / "a", "", 0, 1), "per-client", folder / "a", "--client-test");
}

}  // namespace fedstride::test::client_test_test

#include "sim/run/fleets.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "nn/safetensors.hpp"
#include "server/checkpoint.hpp"
#include "sim/prepare/noise_rate.hpp"
#include "tests/sim/parties/loopback.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::outside_test {
namespace {

namespace fs = std::filesystem;

// A model of three tensors, each client of which moves halfway to its own number plus a draw from its seed, as far as that goes; its state
// counts the rounds it took part in.
std::string first_weights(const TemporaryFolder& folder) {
  const Model model = Model::parse("tensor weight 2 3 | tensor bias 2 | tensor scale", {});
  Vector weights(model.size());
  for (const Parameter& parameter : model.parameters())
    for (std::size_t i = 0; i < parameter.size; ++i) weights[parameter.offset + i] = 0.25F * static_cast<float>(i);
  const std::string path = folder / "first.safetensors";
  write_file(path, write_safetensors(model, weights));
  return path;
}

OutsideAnswer moved(const Task& task, const OutsideTask& one) {
  OutsideAnswer answer{.client = one.client, .weights = task.model, .state = one.state + "*", .examples = one.rows, .loss = 0.5};
  const float goal = static_cast<float>(one.client) + static_cast<float>(one.seed % 8) / 8 + static_cast<float>(one.state.size());
  for (float& weight : answer.weights)
    if (weight != 0) weight += (goal - weight) / 2;
  return answer;
}

void train(const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
           const std::function<void(OutsideAnswer)>& answer) {
  for (const ClientId client : clients) answer(moved(task, task_of(client)));
}

Settings settings_of(const TemporaryFolder& folder, const std::string& out, const std::string& more = "") {
  Settings settings = parse_settings(
      "clients = 3\nrounds = 4\nthreads = 1\nclient-examples = '10,20,30'\nout = '" + (folder / out) + "'\n", "test");
  for (const auto& [key, setting] : parse_settings(more, "test")) settings[key] = setting;
  return with_parameters(settings, first_weights(folder));
}

RunSummary start_outside(const Settings& settings, const OutsideTraining& training = train, const RunObserver& observer = {}) {
  return run(resolve(settings), settings, observer, outside_fleet(training));
}

Evaluation told(double accuracy, double loss, std::uint64_t examples = 0) {
  Evaluation evaluation;
  evaluation.accuracy = accuracy;
  evaluation.loss = loss;
  evaluation.examples = examples;
  return evaluation;
}

}  // namespace

TEST_CASE("a round's model is the mean of the trained weights by the clients' numbers, for a model of tensors") {
  const TemporaryFolder folder;
  std::vector<double> expected;
  const RunSummary summary =
      start_outside(settings_of(folder, "a", "rounds = 1"),
                    [&](const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                        const std::function<void(OutsideAnswer)>& answer) {
                      REQUIRE(clients.size() == 3);
                      expected.assign(task.model.size(), 0);
                      std::set<std::uint64_t> seeds;
                      for (const ClientId client : {2U, 0U, 1U}) {  // in any order
                        const OutsideTask one = task_of(client);
                        CHECK(one.rows == 10 * (client + 1));
                        CHECK(one.state.empty());
                        seeds.insert(one.seed);
                        OutsideAnswer trained = moved(task, one);
                        for (std::size_t i = 0; i < expected.size(); ++i)
                          expected[i] += static_cast<double>(one.rows) * trained.weights[i] / 60;
                        answer(std::move(trained));
                      }
                      CHECK(seeds.size() == 3);
                    });
  CHECK(summary.rounds == 1);
  CHECK(std::isnan(summary.test.accuracy));
  const SafeTensors file = read_safetensors(folder / "a/model.safetensors");
  const Vector model = exact(model_of(file), file);
  REQUIRE(model.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(model[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  const Json told = Json::parse(read_file(folder / "a/summary.json"));
  CHECK(told["test_accuracy"].is_null());
  CHECK(told["training_rows"] == 60);
  CHECK(told["examples"] == 60);
  CHECK_FALSE(fs::exists(folder / "a/partition.json"));
}

TEST_CASE("a run of outside code is resumed with the same bits, including clients' states") {
  const TemporaryFolder folder;
  fs::remove(first_weights(folder));
  const std::string keep = "client-state = 'keep'\ncode = 'train=mover 1'\ncohort = 'fixed'\ncohort-size = 2\nrounds = 6\n";
  start_outside(settings_of(folder, "whole", keep));
  std::atomic<bool> stop{false};
  int left = 3;
  RunObserver observer;
  observer.stop = &stop;
  observer.round = [&](const RoundRecord&) { stop = --left == 0; };
  start_outside(settings_of(folder, "parts", keep), train, observer);
  CHECK(hashes(folder / "parts").size() == 3);
  fs::remove(folder / "first.safetensors");  // its values are in the checkpoint
  resume(folder / "parts", {}, {}, outside_fleet(train));
  CHECK(hashes(folder / "parts") == hashes(folder / "whole"));
  first_weights(folder);
  start_outside(settings_of(folder, "reset",
                            "client-state = 'reset'\ncode = 'train=mover 1'\ncohort = 'fixed'\ncohort-size = 2\nrounds = 6\n"));
  CHECK(hashes(folder / "reset").back() != hashes(folder / "whole").back());
}

TEST_CASE("a run of code without a name and version, or without the code, is not resumed") {
  const TemporaryFolder folder;
  start_outside(settings_of(folder, "a", "code = 'aggregation=median 1; train=?'"));
  CHECK_USAGE_ERROR(resume(folder / "a", {{"rounds", {std::int64_t{9}}}}, {}, outside_fleet(train)), folder / "a", "train",
                    "@fedstride.named");
  start_outside(settings_of(folder, "b", "code = 'train=mover 1'"));
  CHECK_USAGE_ERROR(resume(folder / "b", {{"rounds", {std::int64_t{9}}}}), folder / "b", "train=mover 1", "fedstride.resume");
  CHECK_USAGE_ERROR(run(resolve(settings_of(folder, "c")), settings_of(folder, "c")), "partition", "outside",
                    "fedstride.run(train=...)");
  CHECK_FALSE(fs::exists(folder / "c"));
}

TEST_CASE("a client whose code fails is left out of the round, and its state stays") {
  const TemporaryFolder folder;
  start_outside(settings_of(folder, "a", "rounds = 2\nclient-state = 'keep'"),
                [](const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                   const std::function<void(OutsideAnswer)>& answer) {
                  for (const ClientId client : clients) {
                    const OutsideTask one = task_of(client);
                    if (client != 1) CHECK(one.state.size() == task.round - 1);
                    if (client == 1 && task.round == 1) {
                      answer({.client = client, .failure = "its training raised ValueError: no"});
                      continue;
                    }
                    if (client == 1) CHECK(one.state.empty());
                    answer(moved(task, one));
                  }
                });
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds[0]["failed_clients"] == 1);
  CHECK(rounds[0]["clients"][1]["failure"] == "its training raised ValueError: no");
  CHECK(rounds[1]["failed_clients"] == 0);
}

TEST_CASE("models of layers can be trained outside too, and are evaluated here") {
  const TemporaryFolder folder;
  write_data(folder);
  Settings settings = settings_for(folder, "a", "code = 'train=mover 1'\nrounds = 2");
  const RunSummary summary = start_outside(settings);
  CHECK(summary.test.examples == 60);
  CHECK(std::isfinite(summary.test.loss));
  CHECK_USAGE_ERROR(start(settings_for(folder, "b", "code = 'train=mover 1'")), "code", "train=mover 1",
                    "fedstride.run(train=...)");
}

TEST_CASE("an evaluation by outside code is accepted if it is possible; otherwise the run ends with one line") {
  const TemporaryFolder folder;
  int runs = 0;
  const auto evaluated = [&](const Evaluation& evaluation) {
    const Settings settings = settings_of(folder, "run" + std::to_string(runs++), "rounds = 1");
    const auto evaluate = [evaluation](const Vector&, EvaluatedOn) { return evaluation; };
    return run(resolve(settings), settings, {}, outside_fleet(train, evaluate)).test;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Evaluation diverged = evaluated(told(std::nan(""), kInfinity));
  CHECK(diverged.loss == kInfinity);
  CHECK(diverged.is_told);
  CHECK(evaluated(told(1, 1e9, 7)).loss == 1e9);
  CHECK_USAGE_ERROR(evaluated(told(2, 1)), "evaluate", "accuracy", "2", "0", "1");
  CHECK_USAGE_ERROR(evaluated(told(-kInfinity, 1)), "evaluate", "accuracy", "-inf", "0", "1");
  CHECK_USAGE_ERROR(evaluated(told(1, -1)), "evaluate", "loss", "-1", "0", "1e+06");
  CHECK_USAGE_ERROR(evaluated(told(1, 1, std::uint64_t{1} << 32)), "evaluate", "examples", "4294967296", "0", "4294967295");
}

TEST_CASE("an evaluation of numbers by outside code has an R2, which may be negative") {
  const TemporaryFolder folder;
  write_file(folder / "d.csv", "a,price\n1,0.5\n2,1.5\n3,0.5\n4,2.5\n5,1.5\n6,0.5\n");
  const Settings settings = parse_settings("data = '" + (folder / "d.csv") +
                                               "'\nlabel = 'price'\ntargets = 'values'\npartition = 'iid'\nclients = 2\n"
                                               "model = 'dense outputs'\ncode = 'train=mover 1'\nrounds = 1\nout = '" +
                                               (folder / "out") + "'\n",
                                           "test");
  const auto evaluate = [](const Vector&, EvaluatedOn) { return told(-0.5, 2, 6); };
  const RunSummary summary = run(resolve(settings), settings, {}, outside_fleet(train, evaluate));
  CHECK(summary.test.accuracy == -0.5);
  const Json written = Json::parse(read_file(folder / "out/summary.json"));
  CHECK(written["metric"] == "R2");
  CHECK(written["test_r2"] == -0.5);
  CHECK_FALSE(written.contains("test_accuracy"));
}

TEST_CASE("clients trained by outside code are protected: clipped, noised, counted") {
  const TemporaryFolder folder;
  for (const std::string by : {"central", "local"}) {
    const std::string more = "rounds = 2\ndp = 'client'\nclip = 0.5\nnoise-multiplier = 1.0\nclient-noise = '" + by + "'\n";
    start_outside(settings_of(folder, by, more));
    start_outside(settings_of(folder, by + "-again", more));
    CHECK(hashes(folder / by) == hashes(folder / (by + "-again")));
    CHECK(fs::exists(folder / (by + "/ledger.jsonl")));
    CHECK(lines(folder / (by + "/rounds.jsonl")).back()["client_privacy"]["epsilon"].is_number());
  }
  start_outside(settings_of(folder, "plain", "rounds = 2"));
  CHECK(hashes(folder / "plain").back() != hashes(folder / "central").back());
}

TEST_CASE("settings without meaning for outside code are refused by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& more) { return start_outside(settings_of(folder, "refused", more)); };
  CHECK_USAGE_ERROR(refused("dp = 'example'\nnoise-multiplier = 1.0"), "dp", "example", "Task.lots()",
                    "fedstride.uses_clipped_sum");
  CHECK_USAGE_ERROR(refused("local-objective = 'prox'"), "local-objective", "prox", "local-objective plain");
  CHECK_USAGE_ERROR(refused("personal = 'ditto'"), "personal", "ditto");
  CHECK_USAGE_ERROR(refused("freeze = 'weight'"), "freeze", "weight");
  CHECK_USAGE_ERROR(refused("client-test = 0.2"), "client-test", "0.2");
  CHECK_USAGE_ERROR(refused("validation-fraction = 0.2"), "validation-fraction", "0.2", "partition", "outside");
  CHECK_USAGE_ERROR(refused("dataset = 'cifar10'\npartition = 'outside'"), "dataset", "cifar10", "partition", "outside");
  Settings settings = settings_of(folder, "x");
  settings["init"] = {std::string()};
  CHECK_USAGE_ERROR(start_outside(settings), "init", "''");
  settings["init"] = {folder / "absent.safetensors"};
  CHECK_FAILURE(start_outside(settings), folder / "absent.safetensors");
  CHECK_USAGE_ERROR(with_parameters({{"model", {std::string("dense classes")}}}, "w.safetensors"), "model", "parameters",
                    "w.safetensors");
  settings = parse_settings("partition = 'outside'\nclients = 3", "test");
  CHECK_USAGE_ERROR(start_outside(settings), "model", "auto", "partition", "outside", "parameters");
}

TEST_CASE("from own tensors, which have no layers to draw, learned weights have a third of the server's first rate") {
  const TemporaryFolder folder;
  const auto rate = [&](const std::string& more) {
    return noise_rate(prepare(resolve(settings_of(
        folder, "x", "dp = 'client'\nclip-rule = 'scaled'\nnoise-multiplier = 40.0\nserver-schedule = 'noise'\n" + more))));
  };
  CHECK(rate("") > 0);
  CHECK(rate("start = 'learned'\n") == doctest::Approx(rate("") / 3));
}

TEST_CASE("a federation of clients with their own code gives the bits of the run in one process") {
  const TemporaryFolder folder;
  write_data(folder);  // unused
  for (const std::string more : {"", "dp = 'client'\nclip = 0.5\nnoise-multiplier = 1.0\nrandomness = 'seeded'\n"}) {
    const std::string name = more.empty() ? "plain" : "private";
    start_outside(settings_of(folder, name, more));
    const auto change = [&](Settings settings) {
      for (const char* key : {"data", "header", "model", "classes", "mean", "deviation", "public-test"}) settings.erase(key);
      settings["client-examples"] = {std::string("10,20,30")};
      settings["rounds"] = {std::int64_t{4}};
      return with_parameters(settings, first_weights(folder));
    };
    const Loopback result = over_loopback(folder, name + "-net", more, {.change = change, .train = train});
    CHECK(hashes(folder / (name + "-net")) == hashes(folder / name));
    for (const MemberOutcome& client : result.clients) CHECK(client.finished);
  }
}

}  // namespace fedstride::test::outside_test

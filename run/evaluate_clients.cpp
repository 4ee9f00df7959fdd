#include "run/evaluate_clients.hpp"

#include <filesystem>
#include <numeric>

#include "client/trainer.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/parse_number.hpp"
#include "nn/safetensors.hpp"
#include "partitions/own_rows.hpp"
#include "run/evaluate.hpp"
#include "run/private_moments.hpp"
#include "run/run_folder.hpp"
#include "server/checkpoint.hpp"
#include "sim/dealt_states.hpp"
#include "sim/threads.hpp"

namespace fedstride {
namespace {

// R^2 compares with the mean over all clients' rows; a client that was evaluated alone knows that of its own only.
void compare_with_all(std::vector<GroupEvaluation>& clients, const std::vector<GroupEvaluation>& together) {
  for (std::size_t client = 0; client < clients.size(); ++client) {
    GroupEvaluation& one = clients[client];
    if (together[client].variation == 0) continue;
    one.variation = together[client].variation;
    one.accuracy = r_squared(one.loss, one.variation);
  }
}

// Every client's model after `epochs` of its own training from `weights`, on its own test rows.
std::vector<GroupEvaluation> fine_tuned(const Setup& setup, const Vector& weights, int epochs, Threads& threads) {
  LocalTraining training = setup.training;
  training.epochs = epochs;
  training.keep_state = false;
  training.attack = {};
  training.objective = LocalObjective();
  training.personal = Personal();
  training.local.clear();
  training.test_rows = nullptr;
  training.test_examples.reset();
  training.privacy.reset();
  training.local_release.reset();
  std::size_t most = 0;
  for (const auto& rows : setup.rows) most = std::max(most, rows.size());
  const auto round = static_cast<std::uint32_t>(setup.configuration.rounds) + 1;
  Pool<Trainer> trainers;
  std::vector<GroupEvaluation> results(setup.rows.size());
  threads.for_each_task(setup.rows.size(), [&](std::size_t client) {
    auto trainer = trainers.borrow([&] { return std::make_unique<Trainer>(setup.model, setup.data.train, training, most); });
    ClientState none;
    Vector own = weights;
    const auto help = [&](int count, function_ref<void(int)> piece) { threads.for_each_piece(count, piece); };
    trainer->train({.round = round, .model = weights}, static_cast<ClientId>(client), setup.rows[client], none, help, {},
                   [&](const ClientUpdate& update) {
                     for (std::size_t i = 0; i < own.size(); ++i) own[i] += update.change[i];
                   });
    GroupEvaluator evaluator(setup.model, client_test_data(setup), {setup.client_test[client]},
                             {setup.training.skew_of(static_cast<ClientId>(client))});
    results[client] = evaluator.evaluate(own, help).front();
    trainers.give_back(std::move(trainer));
  });
  return results;
}

// The round that a run's model is of.
std::uint32_t rounds_of(const SafeTensors& saved) {
  const auto found = saved.metadata.find("rounds");
  std::uint32_t rounds = 0;
  return found != saved.metadata.end() && parse_number(found->second, rounds) ? rounds : 0;
}

// Every client's personal model as the run's folder keeps it, beside the model with these weights.
std::vector<GroupEvaluation> kept_models(const Setup& setup, const std::filesystem::path& folder, const Vector& weights,
                                         std::uint32_t rounds, std::vector<GroupEvaluation> results, Threads& threads) {
  const Checkpoint checkpoint = load_checkpoint(folder / "checkpoint");
  const auto help = [&](int count, function_ref<void(int)> piece) { threads.for_each_piece(count, piece); };
  if (checkpoint.round != rounds)
    throw failure("the model in '" + folder.string() + "' is of round " + std::to_string(rounds) +
                  ", what its clients keep of round " + std::to_string(checkpoint.round) +
                  "; go on with: fedstride run --resume " + folder.string());
  const auto all = [](ClientId) { return true; };
  GroupEvaluator evaluator(setup.model, client_test_data(setup), {});
  for_each_state(folder, checkpoint.configuration, checkpoint.round, all, [&](ClientId client, std::string_view bytes) {
    ClientState state;
    state.load(setup.training, std::string(bytes));
    const Vector own = personal_weights(setup.training, setup.model, weights, state);
    threads.for_each_task(1, [&](std::size_t) {
      evaluator.regroup({setup.client_test[client]}, {setup.training.skew_of(client)});
      results[client] = evaluator.evaluate(own, help).front();
    });
  });
  return results;
}

Json spread_json(const Spread& spread) {
  return {{"mean", spread.mean},  {"deviation", spread.deviation}, {"p10", spread.tenth},
          {"p50", spread.median}, {"p90", spread.ninetieth},       {"worst_tenth", spread.worst_tenth}};
}

Json clients_part(const std::vector<GroupEvaluation>& clients) {
  Json json;
  json["accuracy"] = spread_json(spread_of_clients(clients, &GroupEvaluation::accuracy));
  json["loss"] = spread_json(spread_of_clients(clients, &GroupEvaluation::loss));
  Json& list = json["clients"] = Json::array();
  for (std::size_t client = 0; client < clients.size(); ++client)
    list.push_back({{"client", client},
                    {"examples", clients[client].examples},
                    {"accuracy", clients[client].accuracy},
                    {"loss", number_or_null(clients[client].loss)}});
  return json;
}

}  // namespace

std::vector<std::span<const Row>> client_test_groups(const Setup& setup) {
  std::vector<std::span<const Row>> groups;
  for (const auto& rows : setup.client_test) groups.push_back(rows);
  return groups;
}

std::vector<ClientSkew> client_skews(const Setup& setup) {
  std::vector<ClientSkew> skews;
  for (std::size_t client = 0; client < setup.client_test.size(); ++client)
    skews.push_back(setup.training.skew_of(static_cast<ClientId>(client)));
  return skews;
}

Spread spread_of_clients(const std::vector<GroupEvaluation>& clients, double GroupEvaluation::*number) {
  std::vector<double> numbers;
  for (const GroupEvaluation& client : clients)
    if (client.examples > 0) numbers.push_back(client.*number);
  return spread_of(std::move(numbers));
}

ClientsEvaluation evaluate_clients(const std::string& folder, const std::string& data_dir, int epochs, int threads,
                                   const std::string& data) {
  RunFolder::require(folder);
  Configuration configuration = resolve(read_settings((std::filesystem::path(folder) / "config.toml").string()));
  if (!data.empty()) configuration.data = data;
  if (!data_dir.empty()) configuration.data_dir = data_dir;
  if (configuration.partition.as<OwnRows>() != nullptr)
    throw usage_error("per-client is given; the rows of the run in '" + folder + "' are with its clients");
  if (const auto* settings = example_level(configuration.privacy); settings != nullptr && settings->components > 0)
    throw usage_error("per-client is given; the run in '" + folder + "' has private components, which are not kept");
  const SafeTensors saved = read_safetensors(std::filesystem::path(folder) / "model.safetensors");
  take_moments(saved.metadata, configuration);
  const bool reads_training_rows = configuration.client_test > 0 || epochs > 0 || configuration.personal->makes();
  require_covered(configuration, folder, reads_training_rows);
  const Setup setup = prepare(configuration, FirstWeights::elsewhere);
  if (setup.client_test.empty())
    throw usage_error("per-client is given; the clients of the run in '" + folder +
                      "' have no test rows of their own: it would have to be made with --client-test above 0, or by natural "
                      "clients of data that have test rows of theirs");
  const Vector weights = exact(setup.model, saved);
  Threads pool(threads);
  ClientsEvaluation result{.dataset = configuration.dataset,
                           .class_names = setup.data.test.class_names,
                           .is_covered = !tests_protected_rows(configuration, reads_training_rows)};
  if (setup.data.test.targets == Targets::values) result.metric = "R2";
  const auto help = [&](int count, function_ref<void(int)> piece) { pool.for_each_piece(count, piece); };
  pool.for_each_task(1, [&](std::size_t) {
    GroupEvaluator clients(setup.model, client_test_data(setup), client_test_groups(setup), client_skews(setup));
    result.global = clients.evaluate(weights, help);
    std::vector<Row> all(setup.data.test.size());
    std::iota(all.begin(), all.end(), Row{0});
    GroupEvaluator test(setup.model, setup.data.test, {all});
    test.evaluate(weights, help);
    result.confusion = test.confusion();
  });
  if (epochs > 0) result.fine_tuned = fine_tuned(setup, weights, epochs, pool);
  const Personal& personal = setup.training.personal;
  if (personal->keeps() && std::filesystem::exists(std::filesystem::path(folder) / "states"))
    result.personal = kept_models(setup, folder, weights, rounds_of(saved), result.global, pool);
  else if (personal->makes() && !personal->keeps())
    result.personal = fine_tuned(setup, weights, personal->epochs(), pool);
  compare_with_all(result.fine_tuned, result.global);
  compare_with_all(result.personal, result.global);
  return result;
}

std::string clients_json(const ClientsEvaluation& result) {
  Json json;
  json["dataset"] = result.dataset;
  if (result.metric != "accuracy") json["metric"] = result.metric;
  json["global"] = clients_part(result.global);
  if (!result.fine_tuned.empty()) json["fine_tuned"] = clients_part(result.fine_tuned);
  if (!result.personal.empty()) json["personal"] = clients_part(result.personal);
  json["confusion"] = result.confusion;
  if (!result.is_covered) json["not_covered"] = true;
  return dump_json(json, 2);
}

}  // namespace fedstride

#include "sim/run/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "client/told_evaluation.hpp"
#include "client/trainer.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/spread.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/named_facts.hpp"
#include "nn/safetensors.hpp"
#include "partitions/own_rows.hpp"
#include "server/checkpoint.hpp"
#include "sim/fleet/dealt_states.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/prepare/private_inputs.hpp"
#include "sim/run/model_tests.hpp"
#include "sim/run/run_folder.hpp"
#include "sim/settings/rules.hpp"

namespace fedstride {
namespace {

/// The settings for reading a file: the given value of each setting if it is not the default, otherwise the run's.
ReadSettings merged(const ReadSettings& given, ReadSettings settings) {
  const Configuration nothing;
  Configuration from;
  Configuration into;
  static_cast<ReadSettings&>(from) = given;
  static_cast<ReadSettings&>(into) = settings;
  for (const SettingInfo& info : settings_of<Configuration>())
    if (info.get(&from) != info.get(&nothing)) info.set(&into, info.get(&from));
  return into;
}

/// Resets the settings that determine how inputs are normalized, which apply to any data set.
ReadSettings without_normalization(ReadSettings settings) {
  const Configuration nothing;
  Configuration all;
  static_cast<ReadSettings&>(all) = std::move(settings);
  for (const SettingInfo& info : settings_of<Configuration>())
    if (is_about_normalizing(info.name)) info.set(&all, info.get(&nothing));
  return all;
}

/// Sets the schema with which the model was trained, if it has one, and its constants unless others are given.
void read_through_model(const SafeTensors& model, const std::string& name, const ReadSettings& given, ReadSettings& settings) {
  const auto text = model.metadata.find(kSchemaKey);
  if (text == model.metadata.end()) return;
  settings.schema = std::make_shared<const Schema>(read_schema(text->second, "'" + name + "'"));
  settings.keeps_constants = true;
  if (!settings.schema->columns.answers.empty()) {  // a table's columns come from the schema; an archive's are keys
    settings.inputs = given.inputs;
    settings.label = given.label;
    settings.drop_columns = given.drop_columns;
    settings.categories = given.categories;
    // Of protected rows nothing says whether there is a header, except names or what the run was told.
    if (given.header != Header::automatic || settings.schema->columns.are_named || !settings.rows_are_protected)
      settings.header = given.header;
    settings.offsets = given.offsets;
  }
  settings.normalize = given.normalize;
  settings.mean = given.mean;
  settings.deviation = given.deviation;
}

/// True if the run's own guarantee protects the rows on which the run is evaluated, so no release covers the results.
bool tests_protected_rows(const Configuration& run, bool training_part) {
  if (run.privacy.as<NoPrivacy>() != nullptr || run.partition.as<OwnRows>() != nullptr) return false;
  return training_part || !names_public_test(run.dataset, run);
}

/// Refuses to evaluate a publishable run on rows that it protects.
void require_covered(const Configuration& run, const std::string& folder, bool training_part) {
  if (run.publishable && tests_protected_rows(run, training_part))
    throw usage_error(
        "the run in '" + folder +
        "' is publishable and protects these rows, so no release would cover the result; use data that it does not protect "
        "(--data FILE), or a run with evaluate private");
}

// R^2 is relative to the mean over all clients' rows, but evaluating a client alone uses the mean over its own rows.
void compare_with_all(std::vector<GroupEvaluation>& clients, const std::vector<GroupEvaluation>& together) {
  for (std::size_t client = 0; client < clients.size(); ++client) {
    GroupEvaluation& one = clients[client];
    if (together[client].variation == 0) continue;
    one.variation = together[client].variation;
    one.accuracy = r_squared(one.loss, one.variation);
  }
}

// Evaluates, on each client's test rows, its model after `epochs` of local training from `weights`.
std::vector<GroupEvaluation> fine_tuned(const Setup& setup, const Vector& weights, int epochs, Threads& threads) {
  const LocalTraining& run = setup.training;
  const LocalTraining training{.optimizer = run.optimizer,
                               .epochs = epochs,
                               .batch = run.batch,
                               .augmentation = run.augmentation,
                               .feature_skew = run.feature_skew,
                               .clients = run.clients,
                               .keep_state = false,
                               .seed = run.seed,
                               .frozen = run.frozen};
  std::size_t most = 0;
  for (const auto& rows : setup.clients.rows) most = std::max(most, rows.size());
  const auto round = static_cast<std::uint32_t>(setup.configuration.rounds) + 1;
  Pool<Trainer> trainers;
  std::vector<GroupEvaluation> results(setup.clients.rows.size());
  threads.for_each_task(setup.clients.rows.size(), [&](std::size_t client) {
    auto trainer = trainers.borrow([&] { return std::make_unique<Trainer>(setup.model, setup.data.train, training, most); });
    ClientState none;
    Vector own = weights;
    trainer->train({.round = round, .model = weights}, static_cast<ClientId>(client), setup.clients.rows[client], none, threads,
                   {}, [&](const ClientUpdate& update) {
                     for (std::size_t i = 0; i < own.size(); ++i) own[i] += update.change[i];
                   });
    GroupEvaluator evaluator(setup.model, client_test_data(setup), {setup.clients.test[client]},
                             {setup.training.skew_of(static_cast<ClientId>(client))});
    results[client] = evaluator.evaluate(own, threads).front();
    trainers.give_back(std::move(trainer));
  });
  return results;
}

// The number of rounds after which a run's model was saved; 0 if unknown.
std::uint32_t rounds_of(const SafeTensors& saved) {
  const auto found = saved.metadata.find("rounds");
  std::uint32_t rounds = 0;
  return found != saved.metadata.end() && parse_number(found->second, rounds) ? rounds : 0;
}

// The checkpoint of a run whose model was saved after this round.
Checkpoint checkpoint_of(const std::filesystem::path& folder, std::uint32_t rounds) {
  Checkpoint checkpoint = load_checkpoint(folder / "checkpoint");
  if (checkpoint.round != rounds)
    throw failure("the model in '" + folder.string() + "' is from round " + std::to_string(rounds) +
                  ", but its clients' states are from round " + std::to_string(checkpoint.round) +
                  "; continue the run with: fedstride run --resume " + folder.string());
  return checkpoint;
}

// Evaluates each client's personal model, from its state in the run's folder and the federation's weights.
std::vector<GroupEvaluation> kept_models(const Setup& setup, const std::filesystem::path& folder, const Vector& weights,
                                         std::uint32_t rounds, std::vector<GroupEvaluation> results, Threads& threads) {
  const Checkpoint checkpoint = checkpoint_of(folder, rounds);
  const auto all = [](ClientId) { return true; };
  GroupEvaluator evaluator(setup.model, client_test_data(setup), {});
  for_each_state(folder, checkpoint.configuration, checkpoint.round, all, [&](ClientId client, std::string_view bytes) {
    ClientState state;
    state.load(setup.training, std::string(bytes));
    const Vector own = personal_weights(setup.training, setup.model, weights, state);
    threads.run([&] {
      evaluator.regroup({setup.clients.test[client]}, {setup.training.skew_of(client)});
      results[client] = evaluator.evaluate(own, threads).front();
    });
  });
  return results;
}

Json spread_json(const Spread& spread) {
  return {{"mean", spread.mean},  {"deviation", spread.deviation}, {"p10", spread.tenth},
          {"p50", spread.median}, {"p90", spread.ninetieth},       {"worst_tenth", spread.worst_tenth}};
}

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics.numbers) json[std::string(name)] = number_or_null(value);
  for (const ClassMetrics& one : metrics.classes)
    json["classes"].push_back({{"examples", one.examples},
                               {"recall", one.recall},
                               {"precision", one.precision},
                               {"f1", one.f1},
                               {"auc", number_or_null(one.auc)}});
  return json;
}

Json clients_part(const std::string& metric, const std::vector<GroupEvaluation>& clients) {
  Json json;
  json[metric] = spread_json(spread_of_clients(clients, &GroupEvaluation::accuracy));
  json[metric]["mean_by_rows"] = mean_by_rows(clients);
  json["loss"] = spread_json(spread_of_clients(clients, &GroupEvaluation::loss));
  Json& list = json["clients"] = Json::array();
  for (std::size_t client = 0; client < clients.size(); ++client)
    list.push_back({{"client", client},
                    {"examples", clients[client].examples},
                    {metric, clients[client].examples > 0 ? Json(clients[client].accuracy) : Json(nullptr)},
                    {"loss", clients[client].examples > 0 ? number_or_null(clients[client].loss) : Json(nullptr)}});
  return json;
}

/// The data on which a model is evaluated.
struct EvaluatedData {
  DataOptions place;
  bool is_other = false;   ///< not the model's training data
  bool is_covered = true;  ///< see ModelEvaluation
};

/// The data asked for; what is not given comes from the run in `folder`.
EvaluatedData data_of_run(const std::filesystem::path& folder, const DataOptions& options, bool training_part) {
  const Configuration run = resolve_unchecked(read_settings((folder / "config.toml").string()));
  EvaluatedData asked{.place = data_options(run), .is_other = options.brought != nullptr};
  const bool is_given = !options.data.empty() || options.brought;
  if (!is_given) {
    require_covered(run, folder.string(), training_part);
    asked.is_covered = !tests_protected_rows(run, training_part);
  }
  if (training_part && run.partition.as<OwnRows>() != nullptr)
    throw usage_error("part is 'train'; the training rows of the run in '" + folder.string() +
                      "' are with its clients; valid: test");
  std::error_code error;
  if (!options.data.empty() && !options.brought)
    asked.is_other = options.data != asked.place.data && !std::filesystem::equivalent(options.data, asked.place.data, error);
  if (asked.is_other) asked.place.read.test.clear();
  asked.place.read = merged(options.read, asked.place.read);
  asked.place.brought = options.brought;
  if (!options.data.empty()) asked.place.data = options.data;
  if (!options.data_dir.empty()) asked.place.data_dir = options.data_dir;
  return asked;
}

/// The data set's name: as given, or the one that the model was trained on.
std::string dataset_of(const SafeTensors& tensors, const std::string& file, const std::string& dataset,
                       const DataOptions& options) {
  if (!options.data.empty() || options.brought) return std::string(kOwnFile);
  if (!dataset.empty()) return dataset;
  const auto trained_on = tensors.metadata.find("dataset");
  if (trained_on == tensors.metadata.end() || trained_on->second.empty())
    throw usage_error("'" + file + "' does not name its training data set; set --dataset");
  return trained_on->second;
}

/// Loads the data. The model's own training data are split as in training; of other data without a test part, every row is
/// tested, and the notes say how the file was read.
DataPair load_evaluated(const SafeTensors& tensors, const std::string& dataset, EvaluatedData& asked, bool training_part,
                        std::vector<std::string>& notes) {
  ReadSettings& read = asked.place.read;
  const auto hash = tensors.metadata.find("data_hash");
  const bool may_be_test = (asked.is_other || read.without_answers) && !training_part && read.schema;
  if (may_be_test && !read.without_answers && hash != tensors.metadata.end()) {
    DataPair data = load_dataset(dataset, asked.place);
    asked.is_other = data.hash != hash->second;
    if (!asked.is_other) return data;
  }
  read.is_test_part = may_be_test;
  DataPair data = load_dataset(dataset, asked.place);
  if (asked.is_other) notes.insert(notes.end(), data.notes.begin(), data.notes.end());
  return data;
}

void require_same_form(const ModelEvaluation& result, const Dataset& part, const Schema* schema, const ReadSettings& given) {
  if (result.model.form() != part.form())
    throw usage_error("the model is for " + result.model.form().text() + "; dataset '" + result.dataset + "' has " +
                      part.form().text());
  if (schema != nullptr && given.class_names.empty() && schema->classes != part.class_names)
    throw usage_error("the model's classes are " + joined(schema->classes) + "; those of dataset '" + result.dataset + "' are " +
                      joined(part.class_names) +
                      "; set --class-names to the data set's labels for the model's classes, in the model's order");
}

/// A model and the data that it is applied to, read as in training.
struct Loaded {
  SafeTensors tensors;
  ModelEvaluation result = {};
  DataPair data = {};
  std::shared_ptr<const Schema> schema = {};
};

Loaded load_for_model(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                      int threads) {
  if (!options.data.empty() && !dataset.empty() && dataset != kOwnFile)
    throw usage_error("dataset is '" + dataset + "' and data is '" + options.data + "'; set only one of them");
  std::filesystem::path file(path);
  std::error_code error;
  EvaluatedData asked{.place = options, .is_other = !options.data.empty() || options.brought};
  if (std::filesystem::is_directory(file, error)) {
    if (dataset.empty() && std::filesystem::exists(file / "config.toml", error))
      asked = data_of_run(file, options, training_part);
    file /= "model.safetensors";
  }
  if (!std::filesystem::exists(path, error))
    throw usage_error("'" + path + "' is neither a .safetensors file nor the folder of a run");
  Loaded loaded{.tensors = read_safetensors(file)};
  const SafeTensors& tensors = loaded.tensors;
  ModelEvaluation& result = loaded.result;
  result = {.model = model_of(tensors),
            .dataset = dataset_of(tensors, file.string(), dataset, options),
            .is_covered = asked.is_covered};
  if (!result.model.has_layers())
    throw usage_error("'" + file.string() +
                      "' holds tensors without layers; only your own code can evaluate it (docs/python.md)");
  const bool is_read = dataset_source(result.dataset).read != nullptr;
  if (without_normalization(options.read) != ReadSettings() && !is_read)
    throw usage_error("settings for reading files are given; they apply to your own data (--data FILE), not to data set '" +
                      result.dataset + "'");
  asked.place.read.without_answers = options.read.without_answers;
  asked.place.read.may_lack_clients = true;
  asked.place.read.threads = threads;
  read_through_model(tensors, file.string(), options.read, asked.place.read);
  if (options.read.without_answers && asked.place.read.schema == nullptr)
    throw usage_error("'" + file.string() + "' has no schema, by which a file's columns and classes are found");
  if (asked.place.read.schema == nullptr && is_read)
    result.notes.push_back(
        "'" + file.string() +
        "' has no schema: columns, classes and normalization are taken from the data and may differ from those in training");
  loaded.data = load_evaluated(tensors, result.dataset, asked, training_part, result.notes);
  loaded.schema = asked.place.read.schema;
  require_same_form(result, training_part ? loaded.data.train : loaded.data.test, loaded.schema.get(), options.read);
  return loaded;
}

std::vector<Row> all_rows(const Dataset& data) {
  std::vector<Row> rows(data.size());
  std::iota(rows.begin(), rows.end(), Row{0});
  return rows;
}

Metrics metrics_on(const Model& model, const Dataset& data, const std::vector<Row>& rows, const ClientSkew& skew,
                   const Vector& weights, Threads& pool) {
  return rows.empty() ? Metrics{} : Evaluator(model, data, rows, skew).metrics(weights, pool);
}

}  // namespace

ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads) {
  const Loaded loaded = load_for_model(path, dataset, options, training_part, threads);
  ModelEvaluation result = loaded.result;
  const Dataset& part = training_part ? loaded.data.train : loaded.data.test;
  result.class_names = part.class_names;
  const Vector weights = exact(result.model, loaded.tensors);
  Threads pool(threads);
  Evaluator evaluator(result.model, part);
  pool.run([&] {
    result.evaluation = evaluator.evaluate(weights, pool);
    result.metrics = metrics_on(result.model, part, all_rows(part), {}, weights, pool);
  });
  return result;
}

namespace {

// Replaces the federation's weights by those of this client's personal model.
void make_personal(const std::filesystem::path& folder, std::uint32_t rounds, ClientId client, const Model& model,
                   Vector& weights) {
  const std::string who = "client is " + std::to_string(client);
  if (!std::filesystem::is_directory(folder))
    throw usage_error(who + ", but '" + folder.string() + "' is no run's folder, which has the clients' personal models");
  const Setup setup = prepare(resolve_unchecked(read_settings((folder / "config.toml").string())), FirstWeights::elsewhere);
  if (!setup.configuration.personal->keeps() || !std::filesystem::exists(folder / "states"))
    throw usage_error(who + ", but the run in '" + folder.string() +
                      "' keeps no personal models; runs with --personal ditto or local-layers do");
  const Checkpoint checkpoint = checkpoint_of(folder, rounds);
  bool is_found = false;
  const auto is_own = [&](ClientId other) { return other == client; };
  for_each_state(folder, checkpoint.configuration, checkpoint.round, is_own, [&](ClientId, std::string_view bytes) {
    ClientState state;
    state.load(setup.training, std::string(bytes));
    weights = personal_weights(setup.training, model, weights, state);
    is_found = true;
  });
  if (!is_found) throw usage_error(who + "; no such client of the run in '" + folder.string() + "' has a personal model");
}

}  // namespace

Predictions predict_file(const std::string& path, const DataOptions& options, std::optional<ClientId> client, int threads) {
  if (options.data.empty() && !options.brought) throw usage_error("data is ''; it must name the file with the rows to predict");
  DataOptions unanswered = options;
  unanswered.read.without_answers = true;
  const Loaded loaded = load_for_model(path, "", unanswered, false, threads);
  const Dataset& part = loaded.data.test;
  if (part.targets == Targets::positions)
    throw usage_error("the model predicts the next token of every position; predict gives one answer a row");
  if (!part.file_rows.empty() || loaded.data.missing == Missing::drop)
    throw usage_error("missing is 'drop', which leaves rows out; every row must get its prediction: --missing mean or zero");
  Vector weights = exact(loaded.result.model, loaded.tensors);
  const Schema& schema = *loaded.schema;
  if (client) make_personal(path, rounds_of(loaded.tensors), *client, loaded.result.model, weights);
  Predictions predictions{.targets = part.targets, .notes = loaded.result.notes};
  predictions.names = part.targets == Targets::classes ? part.class_names : schema.columns.answers;
  const auto outputs = static_cast<std::size_t>(part.classes);
  for (std::size_t k = predictions.names.size(); k < outputs; ++k) predictions.names.push_back(std::to_string(k));
  Threads pool(threads);
  Evaluator evaluator(loaded.result.model, part);
  std::vector<float> scores;
  pool.run([&] { scores = evaluator.scores(weights, pool); });
  if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); }))
    throw failure("the model's scores are not finite: its weights or these inputs are too large");
  for (std::size_t row = 0; row < part.size(); ++row)
    std::ranges::copy(probabilities(part.targets, std::span<const float>(scores).subspan(row * outputs, outputs)),
                      std::back_inserter(predictions.numbers));
  for (const NamedOffset& one : named_offsets(schema.offsets))  // was subtracted from the answers
    if (outputs == 1 && part.targets == Targets::values && one.column == predictions.names.front())
      for (double& number : predictions.numbers) number += one.offset;
  return predictions;
}

std::string predictions_csv(const Predictions& predictions) {
  const auto quoted = [](const std::string& name) {
    if (name.find_first_of(",\"\r\n") == name.npos) return name;
    std::string text = "\"";
    for (const char letter : name) text += letter == '"' ? "\"\"" : std::string(1, letter);
    return text + "\"";
  };
  const bool are_classes = predictions.targets == Targets::classes;
  std::string text = are_classes ? "row,class" : "row";
  for (const std::string& name : predictions.names)
    text += "," + quoted(predictions.targets == Targets::values ? name : "probability_" + name);
  text += "\n";
  const std::size_t outputs = predictions.names.size();
  for (std::size_t row = 0; row * outputs < predictions.numbers.size(); ++row) {
    const auto own = std::span(predictions.numbers).subspan(row * outputs, outputs);
    text += std::to_string(row + 1);
    if (are_classes)
      text += "," + quoted(predictions.names[static_cast<std::size_t>(std::ranges::max_element(own) - own.begin())]);
    for (const double number : own) text += "," + number_text(number);
    text += "\n";
  }
  return text;
}

std::string evaluation_json(const ModelEvaluation& result) {
  Json json;
  json["dataset"] = result.dataset;
  json["examples"] = result.evaluation.examples;
  json["metric"] = result.evaluation.metric;
  json[std::string(metric_key(result.evaluation.metric))] = result.evaluation.accuracy;
  json["loss"] = result.evaluation.loss;
  json["class_examples"] = result.evaluation.class_examples;
  json["class_correct"] = result.evaluation.class_correct;
  json["metrics"] = metrics_json(result.metrics);
  json["confusion"] = result.metrics.confusion;
  if (!result.class_names.empty()) json["class_names"] = result.class_names;
  json["model"] = result.model.line();
  if (!result.is_covered) json["not_covered"] = true;
  return dump_json(json, 2);
}

ClientsEvaluation evaluate_clients(const std::string& folder, const std::string& data_dir, int epochs, int threads,
                                   const std::string& data) {
  RunFolder::require(folder);
  Configuration configuration = resolve_unchecked(read_settings((std::filesystem::path(folder) / "config.toml").string()));
  if (!data.empty()) configuration.data = data;
  if (!data_dir.empty()) configuration.data_dir = data_dir;
  configuration.threads = threads;
  if (configuration.partition.as<OwnRows>() != nullptr)
    throw usage_error("per-client is given, but the rows of the run in '" + folder + "' are with its clients");
  if (const auto* settings = example_level(configuration.privacy); settings != nullptr && settings->components > 0)
    throw usage_error("per-client is given, but the run in '" + folder + "' has private components, which are not stored");
  const SafeTensors saved = read_safetensors(std::filesystem::path(folder) / "model.safetensors");
  read_through_model(saved, folder, {}, configuration);
  const bool reads_training_rows = configuration.client_test > 0 || epochs > 0 || configuration.personal->makes();
  require_covered(configuration, folder, reads_training_rows);
  const Setup setup = prepare(configuration, FirstWeights::elsewhere);
  if (setup.clients.test.empty())
    throw usage_error(
        "per-client is given, but the clients of the run in '" + folder +
        "' have no test rows; a run has them with --client-test above 0, or with data whose test part names its clients");
  const Vector weights = exact(setup.model, saved);
  Threads pool(threads);
  ClientsEvaluation result{
      .dataset = configuration.dataset,
      .class_names = setup.data.test.class_names,
      .client_names = is_by_natural_clients(configuration) ? setup.data.train.client_names : std::vector<std::string>(),
      .is_covered = !tests_protected_rows(configuration, reads_training_rows)};
  result.metric = metric_of(setup.data.test.targets);
  pool.run([&] {
    result.global = client_evaluator(setup).evaluate(weights, pool);
    result.metrics = metrics_on(setup.model, setup.data.test, all_rows(setup.data.test), {}, weights, pool);
    for (ClientId client = 0; client < setup.clients.test.size(); ++client) {
      const auto rows = setup.clients.test[client];
      result.client_metrics.push_back(metrics_on(setup.model, client_test_data(setup), {rows.begin(), rows.end()},
                                                 setup.training.skew_of(client), weights, pool));
    }
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

double mean_by_rows(const std::vector<GroupEvaluation>& clients) {
  double sum = 0, rows = 0;
  for (const GroupEvaluation& one : clients) {
    sum += one.accuracy * static_cast<double>(one.examples);
    rows += static_cast<double>(one.examples);
  }
  return rows > 0 ? sum / rows : 0;
}

std::string clients_json(const ClientsEvaluation& result) {
  Json json;
  json["dataset"] = result.dataset;
  json["metric"] = result.metric;
  const std::string metric(metric_key(result.metric));
  json["global"] = clients_part(metric, result.global);
  if (!result.fine_tuned.empty()) json["fine_tuned"] = clients_part(metric, result.fine_tuned);
  if (!result.personal.empty()) json["personal"] = clients_part(metric, result.personal);
  json["metrics"] = metrics_json(result.metrics);
  for (std::size_t client = 0; client < result.client_metrics.size(); ++client) {
    Json& one = json["global"]["clients"][client];
    one["metrics"] = metrics_json(result.client_metrics[client]);
    if (client < result.client_names.size()) one["name"] = result.client_names[client];
  }
  json["confusion"] = result.metrics.confusion;
  if (!result.class_names.empty()) json["class_names"] = result.class_names;
  if (!result.is_covered) json["not_covered"] = true;
  return dump_json(json, 2);
}

}  // namespace fedstride

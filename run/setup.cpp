#include "run/setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>

#include "client/trained_ranges.hpp"
#include "core/build_info.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "data/split.hpp"
#include "dp/noise/sampling.hpp"
#include "nn/models.hpp"
#include "nn/safetensors.hpp"
#include "nn/tensor_line.hpp"
#include "objectives/dynamic.hpp"
#include "objectives/plain.hpp"
#include "objectives/scaffold.hpp"
#include "optim/adadp.hpp"
#include "partitions/manifest.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "run/outside.hpp"
#include "run/private_components.hpp"
#include "server/federated_averaging.hpp"

namespace fedstride {
namespace {

// "auto": the optimiser's default, if every client takes part in every round. A federation of one client is training on a
// single machine.
bool keeps_state(const Configuration& configuration) {
  if (configuration.client_state != ClientStateRule::automatic) return configuration.client_state == ClientStateRule::keep;
  if (configuration.cohort.as<AllClients>() == nullptr) return false;
  if (configuration.clients == 1) return true;
  return configuration.optimizer->keeps_state();
}

Initialisation initialisation(const Configuration& configuration) {
  if (configuration.initialisation == InitialisationRule::fan_in) return Initialisation::fan_in;
  if (configuration.initialisation == InitialisationRule::fan_out) return Initialisation::fan_out;
  if (configuration.initialisation == InitialisationRule::glorot) return Initialisation::glorot;
  const auto* adadp = configuration.optimizer.as<Adadp>();
  if (adadp != nullptr && adadp->noisy && adadp->preset == AdadpPreset::authors_code) return Initialisation::fan_out;
  const NamedModel* named = find_named_model(configuration.model);
  return named != nullptr ? named->initialisation : Initialisation::fan_in;
}

bool weighs_examples(const Configuration& configuration) {
  return configuration.weights == WeightRule::examples ||
         (configuration.weights == WeightRule::automatic && client_level(configuration.privacy) == nullptr);
}

std::vector<std::uint64_t> client_weights(const Setup& setup) {
  std::vector<std::uint64_t> weights;
  const bool by_examples = weighs_examples(setup.configuration);
  for (const std::uint64_t rows : setup.row_counts) weights.push_back(by_examples ? rows : 1);
  return weights;
}

/// Draws the attackers.
AttackPlan plan_attack(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  AttackPlan plan{.attack = configuration.attack};
  plan.seed = configuration.seed;
  const double asked = plan.attack->attackers();
  if (asked == 0) return plan;
  plan.attack->check_data(setup.data.train);
  if (plan.attack->poisons() && setup.data.train.targets != Targets::classes)
    throw usage_error("attack is '" + std::string(plan.attack.name()) + "', which changes classes; the answers of data set '" +
                      configuration.dataset + "' are " + std::string(choice_name(setup.data.train.targets)) +
                      ", and only attacks that change updates are valid");
  const auto clients = static_cast<double>(setup.row_counts.size());
  const double count = std::round(asked < 1 ? asked * clients : asked);
  if (count < 1 || count > clients || (asked > 1 && asked != count))
    throw usage_error("attackers is " + number_text(asked) + ", which makes " + number_text(count) + " of " +
                      counted(setup.row_counts.size(), "client") +
                      "; valid is a share of them below 1 that makes one at least, or a whole number up to all");
  std::vector<ClientId> drawn;
  draw_without_replacement(RandomSource(configuration.seed), {Purpose::attackers}, static_cast<std::size_t>(count),
                           all_clients(setup.row_counts.size()), drawn);
  plan.attackers.resize(setup.row_counts.size());
  for (const ClientId client : drawn) plan.attackers[client] = true;
  plan.clients_a_round = configuration.cohort->rate(setup.row_counts.size()) * clients;
  plan.attackers_a_round = plan.clients_a_round * count / clients;
  return plan;
}

/// Refuses a local objective that means nothing with the other parts.
void check_objective(const Configuration& configuration) {
  const LocalObjective& objective = configuration.objective;
  const std::string chosen = "local-objective is '" + std::string(objective.name()) + "'";
  const std::string optimizer = "optimizer '" + std::string(configuration.optimizer.name()) + "'";
  const std::string server = "server-optimizer '" + std::string(configuration.server.name()) + "'";
  if (objective->needs_reach()) {
    const std::string reads = chosen + ", which divides by how far a client's steps reach";
    if (!configuration.optimizer->follows())
      throw usage_error(reads + "; the steps of " + optimizer +
                        " are not in proportion to its gradients: valid are sgd, heavy-ball, ema, adadp and pooled" +
                        (objective.as<Scaffold>() != nullptr ? ", or scaffold-option one" : ""));
    if (keeps_state(configuration) && !configuration.optimizer->keeps_state())
      throw usage_error(reads + " in a round; with client-state 'keep' those of " + optimizer +
                        " go on with the momentum of rounds before: only reset is valid");
  }
  if (objective->needs_start() && example_level(configuration.privacy) != nullptr)
    throw usage_error(chosen + (objective.as<Scaffold>() != nullptr ? " with scaffold-option one" : "") +
                      ", which reads gradients or losses at the model received that no noisy release covers; under example-level "
                      "privacy valid are plain, prox, dyn, nova and scaffold with scaffold-option two");
  if (objective->scales() && client_level(configuration.privacy) != nullptr)
    throw usage_error(chosen +
                      ", whose clients tell the server a number of their own; where clients are protected (dp client or "
                      "both) nothing covers that, and only plain, prox, scaffold and dyn are valid");
  if (configuration.server->measures() && (objective->sends() || objective->scales()))
    throw usage_error(server + " measures the changes of clients, which " + chosen.substr(16) +
                      " sends in another form: valid with it are plain, prox and dyn");
  if (const auto* scaffold = objective.as<Scaffold>(); scaffold != nullptr && scaffold->controls == ScaffoldControls::equal &&
                                                       weighs_examples(configuration) &&
                                                       configuration.aggregation->reads() == Accumulator::Keeps::updates)
    throw usage_error(
        "scaffold-controls is 'equal', with which clients divide their control variates by their weights; aggregation '" +
        std::string(configuration.aggregation.name()) +
        "' compares what they send: valid is scaffold-controls weighted, or weights equal");
  if (objective.as<Dynamic>() != nullptr && configuration.server_schedule != ServerCourse::constant)
    throw usage_error(chosen + ", whose server has a step of its own; with it only server-schedule constant is valid");
  if (objective.as<Dynamic>() != nullptr && configuration.server.as<FederatedAveraging>() == nullptr)
    throw usage_error(chosen + ", whose server has a step of its own; with it only server-optimizer average is valid, not '" +
                      std::string(configuration.server.name()) + "'");
}

/// Sets whose layers are the clients' own, and refuses a personal model that means nothing with the other parts.
void prepare_personal(Setup& setup) {
  const Configuration& configuration = setup.configuration;
  const Personal& personal = configuration.personal;
  LocalTraining& training = setup.training;
  training.personal = personal;
  if (personal->makes() && !setup.client_test.empty() && setup.client_test_is_of_test_part)
    training.test_examples = std::make_shared<const Dataset>(setup.data.test);
  if (personal->makes() && !setup.client_test.empty())
    training.test_rows = [rows = std::make_shared<const ClientRows>(setup.client_test)](ClientId client) {
      return (*rows)[client];
    };
  if (personal->layers().empty()) return;
  const std::string chosen = "personal is '" + std::string(personal.name()) + "'";
  const std::string layers = "local-layers is '" + std::string(personal->layers()) + "'";
  if (configuration.objective.as<Plain>() == nullptr)
    throw usage_error(chosen +
                      ", whose clients send no change of some layers; with it only local-objective plain is valid, not '" +
                      std::string(configuration.objective.name()) + "'");
  const std::span<const Parameter> parameters = setup.model.parameters();
  if (personal->layers() == "last") {
    training.local.assign(setup.model.layers().size(), false);
    training.local[static_cast<std::size_t>(parameters.back().layer)] = true;
  } else {
    training.local = setup.model.layers_named(personal->layers(), "layer to keep with clients");
  }
  for (std::size_t layer = 0; layer < training.local.size(); ++layer)
    if (training.local[layer] && training.frozen[layer])
      throw usage_error(layers + " and freeze '" + configuration.freeze +
                        "'; a layer that stays with its client is one that is trained: no layer may be in both");
  if (trained_ranges(setup.model, training.unsent()).empty())
    throw usage_error(layers + "; the federation has no other layer to train: one at least must be shared");
  if (personal->local_first() >= training.epochs)
    throw usage_error("local-first is " + std::to_string(personal->local_first()) + "; with local-epochs " +
                      std::to_string(training.epochs) + " valid is 0 to " + std::to_string(training.epochs - 1) +
                      ", so that the shared layers train too");
  setup.notes.push_back(
      "the layers that stay with clients are never trained in the federation's own model: its test accuracy says "
      "little, and personal_accuracy (with client-test) how clients fare");
}

/// An aggregation that compares updates does so with all that a client sends.
void note_controls(Setup& setup) {
  const Configuration& configuration = setup.configuration;
  if (!configuration.objective->sends() || configuration.aggregation->reads() == Accumulator::Keeps::sum) return;
  const std::string rule = "aggregation '" + std::string(configuration.aggregation.name()) + "'";
  setup.notes.push_back("local-objective '" + std::string(configuration.objective.name()) +
                        "' sends control variates behind the change of the weights, and " + rule +
                        " treats both as one vector: the server's control variate is no longer the mean of the clients'");
}

void note_unused_rows(Setup& setup) {
  const int batches = setup.configuration.optimizer->gradients_per_step();
  if (batches == 1) return;
  const auto step = static_cast<std::size_t>(batches) * static_cast<std::size_t>(setup.configuration.batch);
  std::uint64_t unused = 0;
  for (const std::uint64_t rows : setup.row_counts)
    if (rows >= step) unused += rows % step;
  if (unused > 0)
    setup.notes.push_back("a step reads " + std::to_string(batches) + " batches; " + counted(unused, "row") +
                          ", others each epoch, " + (unused == 1 ? "is" : "are") + " left over and not used");
}

}  // namespace

const Dataset& client_test_data(const Setup& setup) {
  return setup.client_test_is_of_test_part ? setup.data.test : setup.data.train;
}

namespace {

// Refuses settings about rows that are not here.
void check_rows_elsewhere(const Configuration& configuration) {
  const auto refuse = [&](const char* key, double value) {
    if (value != 0)
      throw usage_error(std::string(key) + " is " + number_text(value) + "; where clients bring their own rows (partition " +
                        std::string(configuration.partition.name()) + ") only 0 is valid");
  };
  refuse("limit-per-client", configuration.limit_per_client);
  refuse("client-test", configuration.client_test);
}

// Replaces prepare_partition if only the clients' code knows their examples: no data set is here at all.
void take_numbers(Setup& setup, const OutsideRows& outside) {
  const Configuration& configuration = setup.configuration;
  check_rows_elsewhere(configuration);
  const auto refuse = [&](const char* key, double value) {
    if (value != 0)
      throw usage_error(std::string(key) + " is " + number_text(value) + "; with partition outside only 0 is valid");
  };
  refuse("validation-fraction", configuration.validation_fraction);
  refuse("evaluate-rows", configuration.evaluate_rows);
  setup.row_counts = outside.counts(static_cast<std::size_t>(configuration.clients));
  setup.rows = ClientRows(Assignment(setup.row_counts.size()));
  setup.partition_hash = Hash().values(std::span<const std::uint64_t>(setup.row_counts)).hex();
  setup.data.train.name = configuration.dataset;
}

// Replaces prepare_partition if the clients have the rows: only test part and normalisation of the data set here count.
void take_roster(Setup& setup, const OwnRows& own) {
  const Configuration& configuration = setup.configuration;
  setup.data = load_dataset(configuration.dataset, data_options(configuration));
  setup.data.has_public_test = true;  // the coordinator's rows are no client's
  for (std::string& fact : setup.data.facts) fact += ", of the coordinator's rows, which are no client's";
  setup.validation_rows = split_validation(setup.data.train.size(), configuration.validation_fraction, configuration.seed).second;
  Hash hash;
  std::map<std::string, std::size_t> bringer;
  for (const RosterLine& line : read_roster(own.roster, configuration.clients)) {
    const auto [other, fresh] = bringer.try_emplace(line.data_hash, setup.row_counts.size());
    if (!fresh)
      setup.notes.push_back("clients " + std::to_string(other->second) + " and " + std::to_string(setup.row_counts.size()) +
                            " bring the same rows");
    setup.row_counts.push_back(line.rows);
    setup.own_data.push_back(line.data_hash);
    hash.value(line.rows).text(line.data_hash);
  }
  setup.rows = ClientRows(Assignment(setup.row_counts.size()));
  setup.partition_hash = hash.hex();
}

// Refuses a model that cannot be trained in this machine's memory, before it is asked for.
void check_memory(const Model& model) {
  constexpr double kLeastBytes = 24;  // a parameter: the weights, a client's, its change and the exact sum
  const double least = kLeastBytes * static_cast<double>(model.parameter_count());
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (memory > 0 && least > memory)
    throw usage_error("the model has " + std::to_string(model.parameter_count()) +
                      " parameters, whose training needs more than " + std::to_string(static_cast<std::uint64_t>(least / 1e9)) +
                      " GB of memory; this machine has " + std::to_string(static_cast<std::uint64_t>(memory / 1e9)) +
                      " GB, enough for at most " + std::to_string(static_cast<std::uint64_t>(memory / kLeastBytes)) +
                      " parameters");
}

// Prepares everything after data and partition.
void prepare_training(Setup& setup, FirstWeights first) {
  const Configuration& configuration = setup.configuration;
  const Dataset& train = setup.data.train;
  if (configuration.augment != Augmentation::none && !train.is_pictures())
    throw usage_error("augment is '" + std::string(choice_name(configuration.augment)) + "'; data set '" + configuration.dataset +
                      "' has no pictures, only none is valid");

  configuration.feature_skew->check_data(train);
  if (configuration.evaluate_rows > 0)
    setup.evaluation_rows =
        draw_evaluation_rows(setup.data.test.size(), static_cast<std::size_t>(configuration.evaluate_rows), configuration.seed);
  prepare_components(setup);
  if (!is_tensor_line(configuration.model) && configuration.partition.as<OutsideRows>() != nullptr)
    throw usage_error("partition is 'outside' and model '" + configuration.model +
                      "', whose layers compute with examples; there, only a model of tensors is valid (parameters)");
  setup.model = Model::parse(configuration.model, input_form(setup));
  check_memory(setup.model);
  setup.training = {.optimizer = configuration.optimizer,
                    .objective = configuration.objective,
                    .attack = plan_attack(setup),
                    .epochs = configuration.local_epochs,
                    .batch = configuration.batch,
                    .augmentation = configuration.augment,
                    .feature_skew = configuration.feature_skew,
                    .clients = static_cast<std::uint32_t>(setup.row_counts.size()),
                    .weighs_examples = weighs_examples(configuration),
                    .keep_state = keeps_state(configuration),
                    .seed = configuration.seed,
                    .frozen = setup.model.frozen(configuration.freeze)};
  prepare_personal(setup);
  setup.rules = {
      .cohort = configuration.cohort,
      .rows = setup.row_counts,
      .sum = {.weights = client_weights(setup), .memory = static_cast<std::uint64_t>(configuration.update_memory) << 20},
      .aggregation = configuration.aggregation,
      .attack = setup.training.attack,
      .evaluated = {static_cast<std::uint32_t>(configuration.evaluate_every), static_cast<std::uint32_t>(configuration.rounds)}};
  setup.initial = setup.model.initial(initialisation(configuration), configuration.seed);
  if (!setup.model.has_layers() && first == FirstWeights::drawn) {
    if (configuration.init.empty())
      throw usage_error("init is ''; a model of tensors begins with the values of a file, which must be named");
    setup.initial = exact(setup.model, read_safetensors(configuration.init));
  } else if (!configuration.init.empty() && first == FirstWeights::drawn) {
    const InitReport report = take_matching(setup.model, read_safetensors(configuration.init), setup.initial);
    if (report.taken.empty())
      throw failure("init '" + configuration.init + "' has no tensor whose name and shape match the model's");
    setup.notes.push_back("init took " + joined(report.taken) +
                          (report.missing.empty() ? "" : "; drawn afresh: " + joined(report.missing)) +
                          (report.ignored.empty() ? "" : "; not used: " + joined(report.ignored)));
  }
  prepare_privacy(setup);
  if (configuration.optimizer->pools() && client_level(configuration.privacy) != nullptr)
    throw usage_error("optimizer is '" + std::string(configuration.optimizer.name()) +
                      "', whose clients tell the server more than a clipped and noised update; where clients are protected "
                      "(dp client or both) only optimizers that pool nothing are valid");
  if (configuration.server->measures() && client_level(configuration.privacy) != nullptr)
    throw usage_error("server-optimizer is '" + std::string(configuration.server.name()) +
                      "', which measures the updates of single clients; where clients are protected (dp client or both) nothing "
                      "covers that, and only server optimizers that see the mean alone are valid");
  check_objective(configuration);
  if (configuration.cohort->asks_for_losses() && setup.privacy.on())
    throw usage_error("cohort is '" + std::string(configuration.cohort.name()) +
                      "', which is drawn by the clients' losses; no release covers these, and under privacy only all, poisson, "
                      "fixed, by-size, round-robin and trace are valid");
  if (configuration.max_update_norm > 0) {
    if (setup.rules.sum.release)
      throw usage_error("max-update-norm is " + number_text(configuration.max_update_norm) +
                        "; where the coordinator protects clients every update is clipped to clip already, and only 0 is valid");
    setup.rules.sum.bound = {UpdateClip(configuration.max_update_norm), configuration.over_norm == OverNorm::refuse};
  }
  if (setup.privacy.on() && !setup.data.has_public_test && configuration.evaluate == EvaluateRule::plain &&
      setup.data.test.size() > 0)
    setup.notes.emplace_back(
        "the test rows are protected as the training rows are: no release covers accuracy on them, and nothing may be chosen by "
        "it "
        "(--evaluate private releases it with noise; --public-test says that a test part is public)");
  const bool trains_here = setup.model.has_layers() && !is_trained_outside(configuration);
  if (!trains_here) check_trained_outside(setup);
  note_controls(setup);
  if (trains_here && !setup.training.privacy) note_unused_rows(setup);
}

}  // namespace

Setup prepare(const Configuration& configuration, FirstWeights first, RowsAre rows) {
  check_together(configuration);
  Setup setup{.configuration = configuration};
  if (const auto* own = configuration.partition.as<OwnRows>(); own != nullptr && rows == RowsAre::with_clients) {
    check_rows_elsewhere(configuration);
    take_roster(setup, *own);
  } else if (const auto* outside = configuration.partition.as<OutsideRows>()) {
    take_numbers(setup, *outside);
  } else {
    prepare_partition(setup);
  }
  if (first == FirstWeights::drawn) setup.cohort_hash = configuration.cohort->file_hash(setup.row_counts.size());
  prepare_training(setup, first);
  return setup;
}

Setup prepare_own(const Configuration& configuration, ClientId client, const DataForm& form) {
  Setup setup{.configuration = configuration};
  check_rows_elsewhere(configuration);
  if (client >= static_cast<std::size_t>(configuration.clients))
    throw usage_error("client is " + std::to_string(client) + "; this experiment has clients 0 to " +
                      std::to_string(configuration.clients - 1));
  DataOptions options = data_options(configuration);
  // As the roster has it: of the rows alone, whatever the experiment names.
  DataOptions plain = options;
  plain.read = {.format = options.read.format,
                .label = options.read.label,
                .client_column = options.read.client_column,
                .targets = options.read.targets};
  const std::string hash = load_own_rows(configuration.dataset, plain).hash;
  options.read.rows_are_protected = configuration.privacy.as<NoPrivacy>() == nullptr;
  if (options.read.rows_are_protected) {  // the coordinator names the form of their answers
    options.read.targets = make_choice<TargetsAre>("targets", choice_name(form.examples.targets));
    options.read.vocabulary = form.examples.vocabulary;
  }
  setup.data = load_own_rows(configuration.dataset, options);
  setup.data.hash = hash;
  fit(setup.data.train, form, options.read);
  const std::size_t count = setup.data.train.size();
  std::vector<Row> rows(count);
  std::iota(rows.begin(), rows.end(), Row{0});
  setup.rows = ClientRows::only(client, static_cast<std::size_t>(configuration.clients), std::move(rows));
  setup.row_counts.resize(setup.rows.size());
  setup.row_counts[client] = count;
  // The form is an input of every gradient: noise drawn for one is not for another.
  setup.partition_hash = Hash()
                             .text(partition_hash(setup.rows))
                             .text(form.examples.shape.text())
                             .value(form.examples.outputs)
                             .value(static_cast<int>(form.examples.targets))
                             .value(form.examples.vocabulary)
                             .values(std::span<const float>(form.mean))
                             .values(std::span<const float>(form.deviation))
                             .hex();
  prepare_training(setup, FirstWeights::elsewhere);
  return setup;
}

Setup prepare_told(const Configuration& configuration, ClientId client, ToldRows told) {
  Setup setup{.configuration = configuration};
  setup.data = load_dataset(configuration.dataset, data_options(configuration));
  const auto wrong = [](const std::string& what) { return failure("the coordinator's partition: " + what); };
  const std::string who = "client " + std::to_string(client);
  if (told.row_counts.size() != static_cast<std::size_t>(configuration.clients) || client >= told.row_counts.size())
    throw wrong(std::to_string(told.row_counts.size()) + " clients have rows; the experiment has " +
                std::to_string(configuration.clients) + ", of which this is " + who);
  const std::uint64_t count = told.row_counts[client];
  const bool has_tests = configuration.personal->makes() && configuration.client_test > 0;
  if (count == 0 || told.rows.size() < count || (told.rows.size() > count && !has_tests))
    throw wrong(who + " is sent " + std::to_string(told.rows.size()) + " rows; it is said to have " + std::to_string(count) +
                ", and needs one at least");
  std::vector<bool> taken(setup.data.train.size());
  for (const Row row : told.rows) {
    if (row >= taken.size())
      throw wrong(who + " is sent row " + std::to_string(row) + "; the data set has the rows 0 to " +
                  std::to_string(taken.size() - 1));
    if (taken[row]) throw wrong(who + " is sent row " + std::to_string(row) + " twice");
    taken[row] = true;
  }
  const auto tested = told.rows.begin() + static_cast<std::ptrdiff_t>(count);
  if (has_tests) setup.client_test = ClientRows::only(client, told.row_counts.size(), {tested, told.rows.end()});
  told.rows.erase(tested, told.rows.end());
  setup.rows = ClientRows::only(client, told.row_counts.size(), std::move(told.rows));
  setup.row_counts = std::move(told.row_counts);
  setup.partition_hash = std::move(told.partition_hash);
  prepare_training(setup, FirstWeights::elsewhere);
  return setup;
}

void poison(Setup& setup) {
  const AttackPlan& plan = setup.training.attack;
  if (!plan.attack->poisons()) return;
  for (ClientId client = 0; client < setup.rows.size(); ++client)
    if (plan.has(client)) plan.attack->poison(setup.data.train, setup.rows[client], plan.seed);
}

Configuration lasting_configuration(const Setup& setup) {
  Configuration configuration = determining(setup.configuration);
  if (!rounds_decide_noise(setup)) configuration.rounds = Configuration().rounds;
  return configuration;
}

std::string lasting_settings(const Setup& setup) {
  const auto name_of_file = [](std::string& path) { path = std::filesystem::path(path).filename().string(); };
  Configuration configuration = lasting_configuration(setup);
  name_of_file(configuration.init);
  if (std::string* path = configuration.partition->reads()) name_of_file(*path);
  if (auto* cohort = configuration.cohort.as<TraceCohort>()) name_of_file(cohort->trace);
  return write_settings(configuration, {});
}

std::string identity(const Setup& setup) {
  const BuildInfo build = build_info();
  return Hash()
      .text(lasting_settings(setup))
      .text(setup.data.hash)
      .text(setup.partition_hash)
      .text(setup.cohort_hash)
      .text(build.version + build.compiler + build.instructions)
      .hex();
}

}  // namespace fedstride

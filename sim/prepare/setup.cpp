#include "sim/prepare/setup.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "client/optim/adadp.hpp"
#include "client/trained_ranges.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/noise/sampling.hpp"
#include "nn/models.hpp"
#include "nn/safetensors.hpp"
#include "nn/tensor_line.hpp"
#include "partitions/manifest.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "server/cohorts.hpp"
#include "sim/prepare/private_inputs.hpp"

namespace fedstride {
namespace {

// --- checks that need the data ---

// Refuses a private evaluation that these data do not allow.
void check_private_evaluation(const DataSetup& setup) {
  if (!setup.configuration.is_evaluated_privately()) return;
  const auto refuse = [](const std::string& why) { throw usage_error("evaluate is 'private'; " + why); };
  if (setup.data.train.targets == Targets::values) refuse("numeric targets have no bounded accuracy; valid: plain");
  const bool by_client = client_level(setup.configuration.privacy) != nullptr;
  if (by_client && setup.clients.test.empty())
    refuse("clients are protected and have no test rows: set --client-test, or use data with natural clients and a test part");
  // A single test row may have been held out only because one must be; another row could then replace it (data/split.hpp).
  if (!by_client && setup.data.test.size() < 2)
    refuse("the data have " + counted(setup.data.test.size(), "test row") + "; at least 2 are needed");
}

// Refuses settings that are invalid with these data.
void check_data(const DataSetup& setup) {
  const Configuration& configuration = setup.configuration;
  const Dataset& train = setup.data.train;
  if (configuration.augment != Augmentation::none && !train.is_pictures())
    throw usage_error("augment is '" + std::string(choice_name(configuration.augment)) + "'; data set '" + configuration.dataset +
                      "' has no images; valid: none");
  configuration.feature_skew->check_data(train);
  check_components(setup);
  check_private_evaluation(setup);
}

// --- model ---

bool reads(std::string_view model, const ExampleForm& form) {
  try {
    Model::parse(model, form);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The named model for `auto`: the first of the papers' models for this kind of example that can read it.
std::string_view automatic_model(const ExampleForm& form) {
  if (form.vocabulary > 0) return form.targets == Targets::positions ? "shakespeare-lstm" : "leaf-lstm";
  if (form.shape.height * form.shape.width == 1) return "covertype-mlp";
  return reads("adadp-cnn", form) ? "adadp-cnn" : "adadp-mlp";  // for images too small to be pooled twice
}

// If rows are protected, the form depends only on types and dimensions, and so does the model.
void choose_model(DataSetup& setup) {
  std::string& model = setup.configuration.model;
  if (model != kAutomaticModel) return;
  const ExampleForm form = input_form(setup);
  model = automatic_model(form);
  setup.notes.push_back(auto_note("model", model + ", for " + form.text(), "--model"));
}

// Refuses a model that does not fit in this machine's memory, before allocating it.
void check_memory(const Model& model) {
  constexpr double kLeastBytes = 24;  // per parameter: the weights, a client's weights, its update and the exact sum
  const double least = kLeastBytes * static_cast<double>(model.parameter_count());
  const auto memory = static_cast<double>(machine_memory());
  if (memory > 0 && least > memory)
    throw usage_error("the model has " + std::to_string(model.parameter_count()) +
                      " parameters, and training it needs more than " + std::to_string(static_cast<std::uint64_t>(least / 1e9)) +
                      " GB of memory; this machine has " + std::to_string(static_cast<std::uint64_t>(memory / 1e9)) +
                      " GB, enough for at most " + std::to_string(static_cast<std::uint64_t>(memory / kLeastBytes)) +
                      " parameters");
}

Initialization initialization(const Configuration& configuration) {
  if (configuration.initialization == InitializationRule::fan_in) return Initialization::fan_in;
  if (configuration.initialization == InitializationRule::fan_out) return Initialization::fan_out;
  if (configuration.initialization == InitializationRule::glorot) return Initialization::glorot;
  const auto* adadp = configuration.optimizer.as<Adadp>();
  if (adadp != nullptr && adadp->noisy && adadp->preset == AdadpPreset::authors_code) return Initialization::fan_out;
  const NamedModel* named = find_named_model(configuration.model);
  return named != nullptr ? named->initialization : Initialization::fan_in;
}

/// Refuses column names that differ and notes class names that differ, since weights belong to inputs and classes by position.
void compare_names(const RunData& data, const SafeTensors& model, const std::string& init, std::vector<std::string>& notes) {
  const auto text = model.metadata.find(kSchemaKey);
  if (text == model.metadata.end()) return;
  const Schema theirs = read_schema(text->second, "init '" + init + "'");
  const Schema ours = schema_of(data);
  if (theirs.columns.are_named && ours.columns.are_named && theirs.columns.inputs != ours.columns.inputs)
    throw usage_error("init '" + init + "' has weights for the columns " + joined(theirs.columns.inputs) + "; the data have " +
                      joined(ours.columns.inputs) + ", but must have the same in the same order");
  if (theirs.classes != ours.classes)
    notes.push_back("init: its classes are " + joined(theirs.classes) + "; the data's are " + joined(ours.classes));
}

Vector first_weights(const DataSetup& setup, const Model& model, FirstWeights first, std::vector<std::string>& notes) {
  const Configuration& configuration = setup.configuration;
  Vector weights = drawn_weights(configuration, model);
  if (first != FirstWeights::drawn || configuration.init.empty()) return weights;
  const SafeTensors file = read_safetensors(configuration.init);
  if (!model.has_layers()) return exact(model, file);
  const InitReport report = take_matching(model, file, weights);
  if (report.taken.empty())
    throw failure("init '" + configuration.init + "' has no tensor whose name and shape match the model's");
  compare_names(setup.data, file, configuration.init, notes);
  notes.push_back("init: took " + joined(report.taken) + (report.missing.empty() ? "" : "; drawn: " + joined(report.missing)) +
                  (report.ignored.empty() ? "" : "; not used: " + joined(report.ignored)));
  if (file.metadata.contains("rounds") && configuration.start == StartFrom::drawn && configuration.has_noise_server())
    notes.emplace_back("init: its weights were trained; with --start learned the server takes the smaller steps that these need");
  return weights;
}

// --- training ---

/// Draws the attackers.
AttackPlan plan_attack(const DataSetup& setup) {
  const Configuration& configuration = setup.configuration;
  AttackPlan plan{.attack = configuration.attack};
  plan.seed = configuration.seed;
  if (plan.attack->attackers() == 0) return plan;
  plan.attack->check_data(setup.data.train);
  if (plan.attack->poisons() && setup.data.train.targets != Targets::classes)
    throw usage_error("attack is '" + std::string(plan.attack.name()) + "', which changes classes; the targets of data set '" +
                      configuration.dataset + "' are " + std::string(choice_name(setup.data.train.targets)) +
                      ", so only attacks that change updates are valid");
  const auto clients = static_cast<double>(setup.clients.size());
  const double count = attackers_among(configuration);
  std::vector<ClientId> drawn;
  draw_without_replacement(RandomSource(configuration.seed), {Purpose::attackers}, static_cast<std::size_t>(count),
                           setup.clients.size(), drawn);
  plan.attackers.resize(setup.clients.size());
  for (const ClientId client : drawn) plan.attackers[client] = true;
  plan.clients_a_round = participation_rate(configuration, setup.clients.size()) * clients;
  plan.attackers_a_round = plan.clients_a_round * count / clients;
  return plan;
}

// For each layer, whether it stays with the clients; empty if none does.
std::vector<bool> local_layers(const Configuration& configuration, const Model& model, const std::vector<bool>& frozen) {
  const Personal& personal = configuration.personal;
  if (personal->layers().empty()) return {};
  const std::string layers = "local-layers is '" + std::string(personal->layers()) + "'";
  std::vector<bool> local;
  if (personal->layers() == "last") {
    local.assign(model.layers().size(), false);
    local[static_cast<std::size_t>(model.parameters().back().layer)] = true;
  } else if (personal->layers() == "batchnorm") {  // FedBN
    for (const Layer& layer : model.layers()) local.push_back(std::holds_alternative<BatchNorm>(layer));
    if (std::ranges::find(local, true) == local.end()) throw usage_error(layers + "; the model has no batchnorm layer");
  } else {
    local = model.layers_named(personal->layers(), "local layer");
  }
  for (std::size_t layer = 0; layer < local.size(); ++layer)
    if (local[layer] && frozen[layer])
      throw usage_error(layers + " and freeze is '" + configuration.freeze +
                        "'; a layer that stays with its client is trained: no layer may be in both");
  return local;
}

// Running statistics are changes of means and second moments in a whole, plainly averaged update of the model that they began from.
void check_running_statistics(const Configuration& configuration, const Model& model) {
  if (model.running_statistics().empty()) return;
  const auto refuse = [](const std::string& key, std::string_view value) {
    throw usage_error(key + " is '" + std::string(value) +
                      "', which the running statistics of a batchnorm layer do not go through; use groupnorm GROUPS");
  };
  if (configuration.mode->is_asynchronous()) refuse("mode", configuration.mode.name());
  if (configuration.objective->sends() || configuration.objective->scales())
    refuse("local-objective", configuration.objective.name());
  if (configuration.compress_up->codes()) refuse("compress-up", configuration.compress_up.name());
  if (configuration.compress_down->codes()) refuse("compress-down", configuration.compress_down.name());
}

// The parameters that an update changes, and how it is clipped if clients are protected.
std::vector<ParameterRange> trained_parameters(const Model& model, const LocalTraining& training) {
  return trained_ranges(model, training.unsent(), training.objective->sends() ? 2 : 1);
}
double number_of(std::span<const ParameterRange> ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), 0.0,
                         [](double sum, const ParameterRange& range) { return sum + static_cast<double>(range.size); });
}
UpdateClip update_clip(const ClientSettings& settings, const std::vector<ParameterRange>& trained) {
  return UpdateClip(settings.clip, settings.clip_per == ClipPer::layer ? trained : std::vector<ParameterRange>{},
                    settings.bound());
}

LocalTraining make_training(const DataSetup& setup, const Model& model, const PrivacySetup& privacy) {
  const Configuration& configuration = setup.configuration;
  const Personal& personal = configuration.personal;
  const std::vector<bool> frozen = model.frozen(configuration.freeze);
  // Constructed here: GCC 12 destroys members that it has not constructed if an initializer below throws.
  check_running_statistics(configuration, model);
  const std::vector<bool> local = local_layers(configuration, model, frozen);
  const AttackPlan attack = plan_attack(setup);
  LocalTraining training{.optimizer = configuration.optimizer,
                         .objective = configuration.objective,
                         .attack = attack,
                         .epochs = configuration.local_epochs,
                         .steps = configuration.local_steps,
                         .batch = configuration.batch,
                         .augmentation = configuration.augment,
                         .feature_skew = configuration.feature_skew,
                         .clients = static_cast<std::uint32_t>(setup.clients.size()),
                         .weighs_examples = weighs_examples(configuration),
                         .keep_state = keeps_state(configuration),
                         .seed = configuration.seed,
                         .frozen = frozen,
                         .personal = personal,
                         .local = local};
  training.coding = {.compression = configuration.compress_up,
                     .feedback = configuration.error_feedback,
                     .sent = trained_ranges(model, training.unsent()),
                     .spread = model.size(),
                     .copies = configuration.objective->sends() ? 2 : 1,
                     .seed = configuration.seed,
                     .matrices = trained_matrices(model, training.unsent())};
  if (!training.local.empty() && trained_ranges(model, training.unsent()).empty())
    throw usage_error("local-layers is '" + std::string(personal->layers()) +
                      "'; the federation has no other layer to train: at least one must be shared");
  if (personal->makes() && !setup.clients.test.empty()) {
    if (setup.clients.test_is_of_test_part) training.test_examples = std::make_shared<const Dataset>(setup.data.test);
    training.test_rows = [rows = std::make_shared<const ClientRows>(setup.clients.test)](ClientId client) {
      return (*rows)[client];
    };
  }
  if (privacy.example) {
    PrivateTraining& lots = training.privacy.emplace();
    for (const LotSizes& sizes : privacy.sizes) {
      const auto plan = privacy.plans.find(sizes);
      lots.plans.push_back(plan == privacy.plans.end() ? nullptr : plan->second);
    }
  }
  if (const auto* settings = client_level(configuration.privacy); settings != nullptr && !settings->place().is_central) {
    std::vector<ParameterRange> trained = trained_parameters(model, training);
    training.local_release = LocalRelease{update_clip(*settings, trained),
                                          noise_grid(privacy.client->clip, privacy.client->noise_multiplier, number_of(trained)),
                                          trained, RandomSource(std::uint64_t{0})};
  }
  return training;
}

// --- rounds ---

// What the server needs from each client under client-level privacy, in addition to the mean of the clipped updates.
// The bits that a bound counts are weighted like updates, so clients are counted in units of the largest weight.
ReleasedBeside released_beside(const Configuration& configuration, const PrivacySetup& privacy, double expected_weight) {
  ReleasedBeside beside = released_beside(configuration);
  const Bound& bound = privacy.client->bound;
  if (!bound->counts()) return beside;
  const double noise_multiplier = privacy.client->noise_multiplier;
  const double expected = expected_weight > 0 ? expected_weight / privacy.largest_weight : 1;  // 0: this process knows no client
  beside.set_bit(noise_multiplier, bound->count_noise(noise_multiplier, expected));
  return beside;
}

// All roles run in this process, so the clients' long-term keys are derived from the seed.
SecureRules secure_rules(const DataSetup& setup, const PrivacySetup& privacy, std::vector<std::string>& notes) {
  const Configuration& configuration = setup.configuration;
  SecureRules rules = secure_settings(configuration);
  rules.lengths = configuration.server->measures() && client_level(configuration.privacy) == nullptr;
  rules.signing_keys = secagg::Secret(Hash().text("signing keys").value(configuration.seed).digest());
  if (privacy.shares) {
    rules.noise = std::make_shared<const NoiseShare>(privacy.shares->share(privacy.client->noise_multiplier));
    rules.grid = privacy.shares->grid_for(privacy.client->noise_multiplier);
    rules.minimum = static_cast<unsigned>(privacy.shares->survivors);  // as accounted, even if fewer are drawn
  }
  std::vector<std::uint64_t> weights = client_weights(setup);
  std::ranges::sort(weights, std::greater<>());
  const std::size_t most = configuration.cohort->most(weights.size());
  if (!rules.noise)
    rules.grid.check(std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(most), std::uint64_t{0}));
  const secagg::Plan plan = rules.plan(most);
  std::string note = "secure aggregation '" + std::string(choice_name(configuration.secure_aggregation)) + "' of " +
                     counted(most, "client") + " a round: each has " + counted(plan.degree, "neighbor") + ", " +
                     std::to_string(plan.threshold) + " shares reconstruct a secret, and fewer than " +
                     counted(plan.minimum, "survivor") + " end the round; its secrecy fails with a probability below 2^-40";
  if (plan.splits)
    note += "; a coordinator that chooses who drops out can learn sums of fewer clients (a larger secure-degree prevents it)";
  notes.push_back(std::move(note));
  return rules;
}

// Refuses correlated noise whose vectors do not fit in this machine's memory.
void check_kept_noise(const Correlation& noise, std::size_t size) {
  const double least = 2 * sizeof(double) * static_cast<double>(kept_vectors(noise)) * static_cast<double>(size);
  const auto memory = static_cast<double>(machine_memory());
  if (memory > 0 && least > memory)
    throw usage_error("noise-mechanism is '" + std::string(choice_name(noise.mechanism)) + "', which keeps " +
                      counted(2 * kept_vectors(noise), "vector") + " as long as the model, " +
                      std::to_string(static_cast<std::uint64_t>(least / 1e9)) + " GB; this machine has " +
                      std::to_string(static_cast<std::uint64_t>(memory / 1e9)) + " GB: choose a mechanism that keeps fewer");
}

// Warns of noise so large that clients may fail (under client-level privacy a failed client contributes 0, as accounted).
void note_noise(double deviation, double clip, std::span<const ParameterRange> trained, double denominator,
                std::vector<std::string>& notes) {
  const double norm = deviation * std::sqrt(number_of(trained)) / denominator;
  if (norm <= clip) return;
  notes.push_back("the noise of a round has norm " + rounded_up(norm) + ", the mean update at most " + rounded_up(clip) +
                  ": rounds may drive the model away until clients fail; a smaller server-learning-rate, a smaller model, more "
                  "clients or a larger " +
                  "epsilon helps");
}

RoundRules make_rules(DataSetup& setup, const Model& model, const PrivacySetup& privacy, const LocalTraining& training) {
  const Configuration& configuration = setup.configuration;
  RoundRules rules{
      .cohort = configuration.cohort,
      .cohort_source = RandomSource(configuration.seed),
      .rows = setup.clients.row_counts,
      .sum = {.weights = client_weights(setup),
              .plain_bytes = sizeof(float) * std::uint64_t{model.parameter_count()} * (configuration.objective->sends() ? 2 : 1),
              .memory = static_cast<std::uint64_t>(configuration.update_memory) << 20},
      .aggregation = configuration.aggregation,
      .attack = training.attack,
      .evaluated = {static_cast<std::uint32_t>(configuration.evaluate_every), static_cast<std::uint32_t>(configuration.rounds)}};
  // Under privacy a round with failures releases its noise like any other, and the run ends after it (run.cpp).
  if (!is_private(configuration)) rules.accepted = configuration.accept_failures;
  if (configuration.is_evaluated_privately()) rules.evaluated.last = 0;  // no extra evaluation of the last round, as accounted
  if (configuration.bounds_updates())
    rules.sum.bound = {UpdateClip(configuration.max_update_norm), configuration.over_norm == OverNorm::refuse};
  if (configuration.server->measures() && configuration.objective->sends()) rules.sum.measured = model.size();
  if (configuration.is_secure()) rules.sum.secure = secure_rules(setup, privacy, setup.notes);
  const auto* settings = client_level(configuration.privacy);
  if (settings == nullptr) return rules;
  const auto& weights = rules.sum.weights;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0,
                                       [](double sum, std::uint64_t weight) { return sum + static_cast<double>(weight); });
  rules.sum.denominator = participation_rate(configuration, setup.clients.size()) * total;
  // In an asynchronous run, the schedule keeps a client's versions apart.
  if (!configuration.mode->is_asynchronous()) rules.separation = minimum_separation(configuration);
  if (!settings->place().is_central) return rules;
  std::vector<ParameterRange> trained = trained_parameters(model, training);
  const UpdateClip clip = update_clip(*settings, trained);
  const ReleasedBeside beside = released_beside(configuration, privacy, rules.sum.denominator);
  const std::size_t size = configuration.objective->update_size(model.size());
  const double sensitivity = privacy.client->clip * privacy.largest_weight;
  note_noise(privacy.client->noise_multiplier * sensitivity, privacy.client->clip, trained, rules.sum.denominator, setup.notes);
  if (beside.count() > 0) trained.push_back({size, beside.count()});  // so these numbers are noised, too
  const Correlation& correlation = privacy.client_release.correlation;
  // All rounds of correlated noise are one release, with at most as many further numbers in a round as its sums have. Encoding rounds
  // sums of all clients' updates in double.
  const double rounds = correlation.is_independent() ? 1 : 2 * static_cast<double>(correlation.horizon);
  const double rounded = correlation.is_independent() ? 0
                                                      : 2 * mechanism_of(correlation).roundings(correlation) * 0x1p-53 * total /
                                                            privacy.largest_weight * std::sqrt(rounds);
  rules.sum.release = CentralRelease{clip,
                                     {.grid = noise_grid(sensitivity * beside.growth() * (1 + rounded),
                                                         privacy.client->noise_multiplier, number_of(trained) * rounds),
                                      .discrete = settings->place().is_on_integers,
                                      .by_clients = settings->has_shares()},
                                     std::move(trained),
                                     RandomSource(std::uint64_t{0}),
                                     beside};
  rules.sum.release->correlation = correlation;
  check_kept_noise(rules.sum.release->correlation, size + beside.count());
  return rules;
}

// --- virtual time ---

// Also checks the devices and availability files.
std::string hash_of_times(const DataSetup& setup) {
  return setup.configuration.devices->file_hash(setup.clients.size()) +
         setup.configuration.availability->file_hash(setup.clients.size());
}

// --- notes ---

// An aggregation that compares updates treats the control variates that clients send as part of them.
void note_controls(const Configuration& configuration, std::vector<std::string>& notes) {
  if (!configuration.objective->sends() || configuration.aggregation->reads() == Accumulator::Keeps::sum) return;
  const std::string rule = "aggregation '" + std::string(configuration.aggregation.name()) + "'";
  notes.push_back("local-objective '" + std::string(configuration.objective.name()) +
                  "' appends control variates to updates, and " + rule +
                  " treats both as one vector: the server's control variate is not the mean of the clients'");
}

void note_unused_rows(const DataSetup& setup, std::vector<std::string>& notes) {
  const int batches = setup.configuration.optimizer->batches_per_step();
  if (batches == 1) return;
  const auto step = static_cast<std::size_t>(batches) * static_cast<std::size_t>(setup.configuration.batch);
  std::uint64_t unused = 0;
  for (const std::uint64_t rows : setup.clients.row_counts)
    if (rows >= step) unused += rows % step;
  if (unused > 0)
    notes.push_back("a step reads " + std::to_string(batches) + " batches; " + counted(unused, "row") +
                    ", different ones in each epoch, " + (unused == 1 ? "is" : "are") + " not used");
}

// A delta of 1/n or more allows a mechanism that publishes one of n records unchanged (Dwork & Roth 2014, section 2.3).
void note_delta(const PrivacySetup& privacy, const DataSetup& setup, std::vector<std::string>& notes) {
  std::uint64_t units = 0;
  for (const LotSizes& size : privacy.sizes) units += size.units;
  const auto note = [&](const std::optional<LevelSetup>& level, std::uint64_t records, std::string_view flag,
                        std::string_view what) {
    if (level && records > 0 && level->delta * static_cast<double>(records) >= 1)
      notes.push_back(std::string(flag) + " " + number_text(level->delta) + " is not below 1/" + std::to_string(records) +
                      ", the reciprocal of the number of protected " + std::string(what) +
                      ": publishing one of them unchanged would satisfy such a delta");
  };
  const bool has_users = user_level(setup.configuration.privacy) != nullptr;
  note(privacy.example, units, "delta", has_users ? "records" : "examples");
  note(privacy.client, setup.clients.size(), privacy.example ? "client-delta" : "delta", "clients");
}

void note_protected_test(const DataSetup& setup, std::vector<std::string>& notes) {
  const Configuration& configuration = setup.configuration;
  if (is_private(configuration) && !setup.data.has_public_test && !configuration.is_evaluated_privately() &&
      setup.data.test.size() > 0)
    notes.emplace_back(
        "the test rows are protected like the training rows: no release covers accuracy on them, and nothing may be chosen by it "
        "(--evaluate private releases it with noise; --public-test declares the test part public)");
}

Setup prepare_rest(DataSetup data, FirstWeights first) {
  check_data(data);
  choose_model(data);
  const Configuration& configuration = data.configuration;
  Model model = Model::parse(configuration.model, input_form(data));
  check_memory(model);
  PrivacySetup privacy = make_privacy(data, model);
  LocalTraining training = make_training(data, model, privacy);
  RoundRules rules = make_rules(data, model, privacy, training);

  std::vector<std::string>& notes = data.notes;
  if (!configuration.automatic_note.empty()) notes.push_back(configuration.automatic_note);
  if (!training.local.empty())
    notes.emplace_back(
        "the layers that stay with clients are not trained in the federation's model, so its test accuracy says little; use "
        "personal_accuracy (with client-test)");
  Vector initial = first_weights(data, model, first, notes);
  note_delta(privacy, data, notes);
  note_protected_test(data, notes);
  note_controls(configuration, notes);
  if (model.has_layers() && !is_trained_outside(configuration) && !privacy.example) note_unused_rows(data, notes);

  const std::string time_hash = first == FirstWeights::elsewhere ? "" : hash_of_times(data);
  const double over = configuration.mode->over_selection();
  if (int* size = rules.cohort->size_setting(); size != nullptr && over > 1)
    *size = static_cast<int>(std::min(static_cast<double>(data.clients.size()), std::ceil(*size * over)));
  std::string cohort_hash = first == FirstWeights::elsewhere ? "" : configuration.cohort->file_hash(data.clients.size());
  ModelCoding broadcast{configuration.compress_down, training.coding.sent, configuration.seed};
  Setup setup{std::move(data),      std::move(model),   std::move(privacy), std::move(training),   std::move(rules),
              std::move(broadcast), std::move(initial), time_hash,          std::move(cohort_hash)};
  use_secrets(setup, std::nullopt);
  return setup;
}

}  // namespace

Vector drawn_weights(const Configuration& configuration, const Model& model) {
  return model.initial(initialization(configuration), configuration.seed);
}

Setup prepare(const Configuration& configuration, FirstWeights first, RowsAre rows) {
  check_together(configuration);
  return prepare_rest(prepare_data(configuration, rows), first);
}

Setup prepare_client(DataSetup data) { return prepare_rest(std::move(data), FirstWeights::elsewhere); }

void poison(Setup& setup) {
  const AttackPlan& plan = setup.training.attack;
  if (!plan.attack->poisons()) return;
  for (ClientId client = 0; client < setup.clients.rows.size(); ++client)
    if (plan.has(client)) plan.attack->poison(setup.data.train, setup.clients.rows[client], plan.seed);
}

Configuration lasting_configuration(const Configuration& given) {
  Configuration configuration = determining(given);
  if (ClientSettings* settings = configuration.privacy->client())
    settings->MechanismSettings::chosen = settings->unplanned().mechanism;
  return configuration;
}

Configuration lasting_configuration(const Setup& setup) {
  Configuration configuration = lasting_configuration(setup.configuration);
  if (!rounds_decide_noise(setup.configuration, setup.privacy)) configuration.rounds = Configuration().rounds;
  return configuration;
}

Configuration without_folders(Configuration configuration) {
  const auto name_of_file = [](std::string& path) { path = std::filesystem::path(path).filename().string(); };
  name_of_file(configuration.init);
  if (std::string* path = configuration.partition->reads()) name_of_file(*path);
  if (auto* cohort = configuration.cohort.as<TraceCohort>()) name_of_file(cohort->trace);
  if (std::string* path = configuration.devices->reads()) name_of_file(*path);
  if (std::string* path = configuration.availability->reads()) name_of_file(*path);
  return configuration;
}

std::string lasting_settings(const Setup& setup) { return identity_settings(without_folders(lasting_configuration(setup))); }

namespace {

std::string identity_at(const Setup& setup, int version) {
  return Hash()
      .text(lasting_settings(setup))
      .text(setup.data.hash)
      .text(setup.clients.partition_hash)
      .text(setup.cohort_hash + setup.time_hash)
      .text(std::to_string(version) + build_info().arithmetic)
      .hex();
}

std::string releases_identity_at(const Setup& setup, int version) {
  Hash hash;
  hash.text(identity_at(setup, version));
  for (const auto& level : {setup.privacy.example, setup.privacy.client})
    if (level) hash.value(level->noise_multiplier).value(level->clip);
  for (const double coefficient : setup.privacy.client_release.correlation.coefficients) hash.value(coefficient);
  return hash.hex();
}

}  // namespace

std::string identity(const Setup& setup) { return identity_at(setup, numerics_version(setup.configuration)); }

std::string releases_identity(const Setup& setup) { return releases_identity_at(setup, numerics_version(setup.configuration)); }

std::string run_identity(const Setup& setup, const std::optional<SecretKey>& key) {
  const std::string plain = releases_identity(setup);
  return key ? keyed_hash(*key, "fedstride: identity of " + build_info().version + plain) : plain;
}

RandomSource private_source(const Setup& setup, const std::optional<SecretKey>& key) {
  const std::string inputs = releases_identity_at(setup, kDrawsVersion);
  if (key) return RandomSource(derived_key(*key, "fedstride: noise of " + build_info().version + inputs));
  const std::string digest = Hash().text("private draws").text(inputs).hex();
  return RandomSource(static_cast<std::uint64_t>(std::stoull(digest.substr(0, 16), nullptr, 16)));
}

const RandomSource& source_of(const Setup& setup) {
  if (setup.training.privacy) return setup.training.privacy->source;
  if (setup.training.local_release) return setup.training.local_release->source;
  return setup.rules.sum.release->source;
}

void use_source(Setup& setup, const RandomSource& source) {
  if (setup.training.privacy) setup.training.privacy->source = source;
  if (setup.training.local_release) setup.training.local_release->source = source;
  if (setup.rules.sum.release) setup.rules.sum.release->source = source;
  if (setup.rules.sum.secure && setup.rules.sum.secure->noise) setup.rules.sum.secure->own = source;
  if (setup.privacy.client) setup.rules.cohort_source = source;
}

void use_secrets(Setup& setup, const std::optional<SecretKey>& key) {
  if (setup.privacy.on()) use_source(setup, private_source(setup, key));
}

}  // namespace fedstride

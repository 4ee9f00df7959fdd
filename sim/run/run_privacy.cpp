#include "sim/run/run_privacy.hpp"

#include <algorithm>
#include <map>

#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "server/cohorts.hpp"
#include "sim/prepare/noise_rate.hpp"
#include "sim/prepare/private_inputs.hpp"
#include "sim/run/ledger_terms.hpp"

namespace fedstride {
namespace {

std::string budget_text(const LevelSetup& level) {
  return "epsilon " + number_text(level.epsilon) + " at delta " + number_text(level.delta);
}

// True if the level's budget covers this spending.
bool covers(const LevelSetup& level, const Spending& spending) {
  return level.epsilon == 0 || delta_by(level.accountant, spending, level.epsilon).value <= level.delta;
}

std::string partition_constant(const Configuration& configuration) {
  const std::string text = "who holds which rows (partition '" + std::string(configuration.partition.name()) + "')";
  const Dealing dealing = configuration.partition->dealing();
  if (dealing != Dealing::labels && dealing != Dealing::features) return text;
  return text + ", assigned by " + (dealing == Dealing::labels ? "labels" : "inputs") +
         "; what the assignment reveals about them is not protected";
}

std::string count_of_lots_constant(const LevelSetup& lots) {
  return "the bound C on an example's gradient, " + lots.bound->course(lots.clip, "all clients' examples") +
         "; each lot's count is released together with its sum, with noise of deviation " +
         lots.bound->count_noise_text(lots.noise_multiplier);
}

std::string count_of_updates_constant(const LevelSetup& updates, const ReleasedBeside& beside) {
  const double deviation = updates.noise_multiplier * beside.growth();
  return "the bound C on an update's norm, " + updates.bound->course(updates.clip, "the clients") +
         "; each sends a bit in the same release, with noise of deviation " + number_text(deviation / beside.bit_share) +
         " on their sum and " + number_text(deviation) + " C on that of updates of weight 1";
}

std::string beside_updates_constant(const LevelSetup& updates, const ReleasedBeside& beside) {
  return "each update, of norm at most C = " + number_text(updates.clip) + ", carries " + counted(beside.count(), "more number") +
         " of at most " + number_text(ReleasedBeside::kShare / 2) + " C, which multiplies sensitivity and noise by " +
         number_text(beside.growth());
}

std::string correlation_constant(const Correlation& noise, bool has_schedule, Participations* participations) {
  const std::string text = "T = " + std::to_string(noise.horizon) + " rounds";
  if (has_schedule && participations == nullptr) return text;
  if (has_schedule)
    return text + ", of which one client is in at most " +
           std::to_string(participations->most(static_cast<std::uint32_t>(noise.horizon))) + " by that schedule";
  if (noise.separation <= 1) return text;
  const std::string groups = std::to_string(noise.separation);
  return text + ", and which of " + groups +
         " groups a client is in, drawn from its number alone; round t asks group t - 1 modulo " + groups;
}

/// Everything that a guarantee assumes to be public, each with its source.
std::vector<std::string> constants_of(const Setup& setup, Participations* participations) {
  const Configuration& configuration = setup.configuration;
  std::vector<std::string> constants = setup.data.facts;
  constants.push_back(partition_constant(configuration));
  if (setup.data.has_public_test) constants.emplace_back("the test part");
  if (!configuration.init.empty())
    constants.emplace_back("the first weights, from a file (init); the data that they were trained on are not protected");
  if (!setup.privacy.user_lots.empty()) constants.push_back(setup.privacy.user_lots);
  if (const auto& lots = setup.privacy.example; lots && lots->bound->counts()) constants.push_back(count_of_lots_constant(*lots));
  if (!setup.privacy.client) return constants;
  const LevelSetup& updates = *setup.privacy.client;
  const auto clients = static_cast<double>(setup.clients.row_counts.size());
  const std::string expected = number_text(participation_rate(configuration, setup.clients.row_counts.size()) * clients);
  constants.push_back("N = " + number_text(clients) + " clients, " + expected +
                      " expected in a round; the sum of a round is divided by " + number_text(setup.rules.sum.denominator));
  const bool has_schedule = counts_participations(setup);
  if (has_schedule) constants.emplace_back("the schedule of tasks, which follows from sizes, devices and availability");
  const ReleasedBeside beside = setup.rules.sum.release ? setup.rules.sum.release->beside : ReleasedBeside();
  const bool counts = updates.bound->counts();
  if (counts) constants.push_back(count_of_updates_constant(updates, beside));
  if (const Correlation& noise = setup.privacy.client_release.correlation; noise.on())
    constants.push_back(correlation_constant(noise, has_schedule, participations));
  if (configuration.has_noise_server()) constants.push_back(noise_rate_text(setup));
  if (!counts && beside.count() > 0) constants.push_back(beside_updates_constant(updates, beside));
  if (configuration.optimizer->is_told())
    constants.push_back("T = " + std::to_string(configuration.rounds) + " rounds and M = " + expected +
                        " expected clients in a round, from which optimizer '" + std::string(configuration.optimizer.name()) +
                        "' plans its steps");
  return constants;
}

/// The releases without the terms that depend on the run: the noise multiplier and the counts.
Releases one_of(Releases releases) {
  releases.noise_multiplier = Releases{}.noise_multiplier;
  releases.count = Releases{}.count;
  releases.rounds = releases.most = 0;
  return releases;
}

/// `participations`: null if not counted or unknown (own_tasks).
LedgerHeader header_of(const Setup& setup, Participations* participations) {
  LedgerHeader header{.source = std::string(choice_name(setup.configuration.randomness)),
                      .clients = static_cast<std::uint32_t>(setup.clients.rows.size()),
                      .statements = {},
                      .constants = constants_of(setup, participations),
                      .schema = setup.data.train.classes > 0 ? schema_seal(schema_of(setup.data), setup.data.normalizes_privately)
                                                             : std::string(),
                      .settings = recorded_settings(setup.configuration)};
  const auto add = [&](Level kind, const LevelSetup& level) -> LedgerStatement& {
    header.statements.push_back({.level = kind,
                                 .accountant = std::string(part_name(level.accountant)),
                                 .delta = level.delta,
                                 .each = {.neighbours = level.neighbours},
                                 .clip_rule = stated_rule(level.bound)});
    if (level.epsilon > 0) header.statements.back().epsilon = level.epsilon;
    return header.statements.back();
  };
  if (setup.privacy.example) {
    LedgerStatement& statement = add(Level::example, *setup.privacy.example);
    if (!setup.privacy.plans.empty()) statement.each.sampling = setup.privacy.plans.begin()->second->sampling();
    statement.own_code = is_clipped_outside(setup.configuration);
    statement.users = user_level(setup.configuration.privacy) != nullptr;
  }
  if (setup.privacy.client) {
    LedgerStatement& statement = add(Level::client, *setup.privacy.client);
    statement.largest_weight = setup.privacy.largest_weight;
    statement.bound = setup.privacy.client->clip;
    statement.participations = counts_participations(setup);
    statement.each = one_of(setup.privacy.client_release);
    statement.own_tasks = statement.participations && participations == nullptr && statement.each.correlation.on();
    statement.noise_at = choice_name(client_level(setup.configuration.privacy)->client_noise);
    if (const auto& shares = setup.privacy.shares) {
      statement.survivors = shares->survivors;
      statement.colluders = shares->colluders;
    }
  }
  return header;
}

// True if the releases made are a prefix of those reserved.
bool is_prefix(const std::vector<ReleaseRun>& made, const std::vector<ReleaseRun>& reserved) {
  auto next = reserved.begin();
  std::uint64_t used = 0;  // releases of *next
  for (const ReleaseRun& run : made)
    for (std::uint64_t left = run.count; left > 0;) {
      if (next == reserved.end() || next->noise_multiplier != run.noise_multiplier || next->clip != run.clip) return false;
      const std::uint64_t step = std::min(left, next->count - used);
      left -= step;
      used += step;
      if (used == next->count) {
        ++next;
        used = 0;
      }
    }
  return true;
}

bool has_secret(const Setup& setup) { return setup.privacy.on() && setup.configuration.randomness == Randomness::secret; }

}  // namespace

std::optional<SecretKey> begin_secrets(const Setup& setup, const std::filesystem::path& folder) {
  remove_unused_ledger(folder / "ledger.jsonl");
  if (!has_secret(setup)) return std::nullopt;
  return renew_key(folder / "secret.key");
}

std::optional<SecretKey> secrets_of(const Setup& setup, const std::filesystem::path& folder) {
  if (!has_secret(setup)) return std::nullopt;
  return load_key(folder / "secret.key");
}

void release_inputs(Setup& setup, RunPrivacy& privacy, const std::optional<SecretKey>& key, function_ref<void()> between) {
  privacy.enter_once();
  const RandomSource once = private_source(setup, key);
  release_moments(setup, once);
  between();
  project_on_components(setup, once);
  poison(setup);
}

RunPrivacy::RunPrivacy(const Setup& setup, const std::filesystem::path& folder, const std::optional<LedgerMark>& mark,
                       const std::optional<SecretKey>& key, std::optional<ClientId> own)
    : setup_(setup), own_(own) {
  if (!setup.privacy.on()) return;
  identity_ = run_identity(setup, key);
  const auto path = folder / "ledger.jsonl";
  const std::string_view secret = key ? bytes_of(*key) : std::string_view{};
  if (!own && counts_participations(setup)) participations_ = std::make_unique<Participations>(setup);
  ledger_.emplace(mark ? Ledger::open(path, *mark, secret)
                       : Ledger::create(path, header_of(setup, participations_.get()), secret));
}

// Adds release number `first` of a noisy quantity at each level that is on.
void RunPrivacy::add_noisy(LedgerGroups& groups, Quantity quantity, double noise_multiplier, std::uint64_t first) const {
  for (const auto& [level, setup] :
       {std::pair(Level::example, &setup_.privacy.example), {Level::client, &setup_.privacy.client}}) {
    if (!*setup) continue;
    groups.push_back({.level = level,
                      .each = {.sampling = Sampling::full, .neighbours = (*setup)->neighbours},
                      .first = first,
                      .runs = {{noise_multiplier, 1, 1}},
                      .quantity = quantity});
  }
}

void RunPrivacy::enter_once() {
  LedgerGroups groups;
  if (!setup_.privacy.components.empty()) {
    const Releases& release = setup_.privacy.components.front();
    groups.push_back({.each = {.sampling = Sampling::full, .neighbours = release.neighbours},
                      .runs = {{release.noise_multiplier, 1, 1}},
                      .quantity = Quantity::components});
  }
  if (setup_.data.normalizes_privately) add_noisy(groups, Quantity::moments, setup_.configuration.normalize_noise, 0);
  if (groups.empty()) return;
  if (const std::string why = charge(0, groups, true); !why.empty()) throw refused_for_good(why);
  ledger_->reserve(0, Hash().text(identity_).text("components").hex(), groups);
  ledger_->close(0, groups);
}

RunPrivacy::Classes RunPrivacy::classes(const SpendingTotals& before) const {
  Classes found{.all = {}, .of = std::vector(setup_.clients.rows.size(), kNoClass)};
  std::map<std::pair<const PrivatePlan*, std::uint32_t>, std::size_t> places;
  for (const ClientId client : all_clients(setup_.clients.rows.size())) {
    const auto& plan = setup_.training.privacy->plans[client];
    if (plan == nullptr) continue;  // a client without rows makes no releases
    const auto [place, fresh] = places.try_emplace({plan.get(), before.history_of(client)}, found.all.size());
    if (fresh) found.all.push_back({plan.get(), &before.examples(client)});
    found.of[client] = place->second;
  }
  return found;
}

bool RunPrivacy::evaluates(std::uint32_t round) const {
  return setup_.configuration.evaluate == EvaluateRule::privately && setup_.rules.evaluated.has(round);
}

Spending RunPrivacy::with_evaluation(Spending spending, const LevelSetup& level, std::uint32_t round) const {
  if (evaluates(round)) merge(spending, *level.evaluation);
  return spending;
}

std::uint64_t RunPrivacy::charged_updates(std::uint32_t round) const {
  if (participations_) return participations_->most(round) - participations_->most(round - 1);
  return setup_.privacy.charges(round) ? 1 : 0;
}

Spending RunPrivacy::after_update(const SpendingTotals& before, std::uint32_t round) const {
  Spending spending = before.updates();
  Releases next = setup_.privacy.client_release;
  const bool is_planned = next.correlation.on();
  if (is_planned && participations_) {
    next = of_rounds(next, round, participations_->most(round));
  } else if (is_planned && counts_participations(setup_)) {  // a client's own task, in a version unknown to it
    const auto taken = std::ranges::find_if(spending, [](const Releases& some) { return some.correlation.on(); });
    next = of_rounds(next, next.correlation.horizon, taken == spending.end() ? 1 : taken->most + 1);
  } else if (is_planned) {
    next.rounds = round;
  }
  if (is_planned || charged_updates(round) > 0) merge(spending, next);
  return with_evaluation(std::move(spending), *setup_.privacy.client, round);
}

RunPrivacy::Planned RunPrivacy::planned(const PrivatePlan& plan, std::uint32_t round) const {
  const int epoch = setup_.training.first_epoch(round);
  const std::uint64_t first = plan.releases_before(epoch);
  return {first, plan.releases_before(epoch + setup_.training.epochs) - first,
          static_cast<std::uint64_t>(plan.lots_per_step(epoch))};
}

std::uint64_t RunPrivacy::allowed(const Class& alike, std::uint32_t round) const {
  const LevelSetup& level = *setup_.privacy.example;
  const Planned planned = this->planned(*alike.plan, round);
  const auto fits = [&](std::uint64_t count) {
    Spending spending = with_evaluation(*alike.spent, level, round);
    merge(spending, alike.plan->spending(planned.first, count, setup_.training.epochs));
    return covers(level, spending);
  };
  const std::uint64_t most = level.epsilon == 0 ? planned.count : largest_count(planned.count, planned.count, fits);
  return most < planned.step ? 0 : most;
}

// If clients are protected, nothing published may reveal who is in a cohort. Every client is therefore charged as if it took part
// in every round, so no budget, epsilon or end of the run depends on the draw.
std::vector<ClientId> RunPrivacy::charged_clients(std::uint32_t round) const {
  if (own_) return {*own_};
  const std::size_t clients = setup_.clients.rows.size();
  return setup_.privacy.client ? all_clients(clients) : setup_.rules.cohort->sample(setup_.rules.question(round, {}));
}

RunPrivacy::Permission RunPrivacy::permitted(std::uint32_t round, double clip) {
  reserved_.clear();
  const SpendingTotals before = ledger_->book().before(round);
  Permission permission;
  if (setup_.privacy.client) permission.refusal = reserve_update(before, round, clip);
  if (setup_.privacy.example && permission.refusal.empty()) permission = reserve_lots(before, round, clip);
  if (permission.refusal.empty() && evaluates(round))
    add_noisy(reserved_, Quantity::evaluation, setup_.configuration.evaluate_noise, round - 1);
  return permission;
}

RunPrivacy::Permission RunPrivacy::reserve(std::uint32_t round, const std::string& model_hash, double clip) {
  if (!ledger_) return {};
  Permission permission = permitted(round, clip);
  if (permission.refusal.empty()) permission.refusal = charge(round, reserved_, true);
  if (!permission.refusal.empty()) return permission;
  ledger_->reserve(round, Hash().text(identity_).text(model_hash).hex(), reserved_);
  return permission;
}

std::string RunPrivacy::reserve_update(const SpendingTotals& before, std::uint32_t round, double clip) {
  const LevelSetup& level = *setup_.privacy.client;
  if (!covers(level, after_update(before, round)))
    return "another round would exceed the clients' budget of " + budget_text(level);
  const Releases& next = setup_.privacy.client_release;
  reserved_.push_back({.level = Level::client,
                       .clients = participations_ ? participations_->clients(round) : std::vector<ClientId>{},
                       .each = one_of(next),
                       .first = round - 1,
                       .runs = {{next.noise_multiplier, clip > 0 ? clip : level.clip, 1}},
                       .largest_weight = setup_.privacy.largest_weight});
  return {};
}

RunPrivacy::Permission RunPrivacy::reserve_lots(const SpendingTotals& before, std::uint32_t round, double clip) {
  const LevelSetup& level = *setup_.privacy.example;
  const Classes classes = this->classes(before);
  std::vector<std::uint64_t> allowed;  // by class
  for (const Class& alike : classes.all) allowed.push_back(this->allowed(alike, round));
  if (std::ranges::all_of(allowed, [](std::uint64_t count) { return count == 0; }))
    return {"another step would exceed every client's budget of " + budget_text(level)};
  // Every client pays for an evaluation, even if it has no steps left.
  const auto covers_evaluation = [&](const Class& one) { return covers(level, with_evaluation(*one.spent, level, round)); };
  if (evaluates(round) && !std::ranges::all_of(classes.all, covers_evaluation))
    return {"another evaluation would exceed a client's budget of " + budget_text(level)};

  Permission permission{.refusal = {}, .releases = std::vector<std::uint64_t>(classes.of.size(), 0)};
  for (std::size_t client = 0; client < classes.of.size(); ++client)
    if (classes.of[client] != kNoClass) permission.releases[client] = allowed[classes.of[client]];
  std::vector<std::vector<ClientId>> charged(classes.all.size());
  for (const ClientId client : charged_clients(round))
    if (classes.of[client] != kNoClass) charged[classes.of[client]].push_back(client);
  for (std::size_t i = 0; i < charged.size(); ++i) {
    if (charged[i].empty() || allowed[i] == 0) continue;
    const PrivatePlan& plan = *classes.all[i].plan;
    const std::uint64_t first = planned(plan, round).first;
    reserved_.push_back({.level = Level::example,
                         .clients = std::move(charged[i]),
                         .each = {.sampling = plan.sampling(),
                                  .neighbours = level.neighbours,
                                  .rate = plan.rate(),
                                  .passes = plan.passes(allowed[i], setup_.training.epochs),
                                  .rows = plan.bound()},
                         .first = first,
                         .runs = plan.runs(first, allowed[i], clip)});
  }
  return permission;
}

void RunPrivacy::keep_budgets(std::vector<RowBudget> budgets, std::optional<PrivacyLimit> limit) {
  budgets_ = std::move(budgets);
  limit_ = limit;
}

std::string RunPrivacy::beyond_at_first() {
  if (!ledger_ || !permitted(1, 0).refusal.empty()) return {};
  return charge(1, reserved_, false);
}

std::string RunPrivacy::charge(std::uint32_t round, const LedgerGroups& groups, bool records) {
  if (budgets_.empty() && !limit_) return {};
  SpendingTotals totals = ledger_->book().before(round);
  for (const LedgerGroup& group : groups) totals.add(group);
  RowSpending own = row_spending(totals);
  if (own_) own.examples = bounding({totals.examples(*own_)}, 1);
  const auto beyond = [&](std::vector<RowSpending> runs) -> std::string {
    const bool is_shared = !runs.empty();
    runs.push_back(own);
    for (const auto& [level, setup] :
         {std::pair(Level::client, &setup_.privacy.client), {Level::example, &setup_.privacy.example}}) {
      if (!*setup) continue;
      const double epsilon = epsilon_together(runs, level, limit_->delta).epsilon;
      if (epsilon <= limit_->epsilon) continue;
      return "another round would bring these rows" + std::string(is_shared ? ", on which other runs were spent too," : "") +
             " to epsilon " + epsilon_text(epsilon) + " at " + std::string(name_of(level)) + " level, delta " +
             number_text(limit_->delta) + "; max-epsilon is " + number_text(limit_->epsilon);
    }
    return {};
  };
  std::string why = limit_ && budgets_.empty() ? beyond({}) : std::string();
  for (RowBudget& budget : budgets_)
    for (const auto& runs : budget.others())
      if (limit_ && why.empty()) why = beyond(runs);
  for (RowBudget& budget : budgets_)
    if (records && why.empty())
      budget.record(round, own);
    else
      budget.release();
  return why;
}

void RunPrivacy::record(std::uint32_t round, const std::vector<ClientReport>& reports) {
  if (!ledger_) return;
  // Like the reserved groups, but with the releases that each client made; clients of a group with the same releases stay
  // together. If clients are protected, a client that made fewer is charged in full, since a lower charge would reveal the draw.
  LedgerGroups executed;
  std::map<ClientId, const ClientReport*> by_client;
  for (const ClientReport& report : reports) by_client.emplace(report.client, &report);
  for (const LedgerGroup& group : reserved_) {
    if (group.level == Level::client || group.quantity != Quantity::sums) {
      executed.push_back(group);
      continue;
    }
    const std::size_t first = executed.size();
    for (const ClientId client : group.clients) {
      const auto report = by_client.find(client);
      const bool as_reserved =
          report == by_client.end() || (!own_ && setup_.privacy.client && is_prefix(report->second->releases, group.runs));
      const auto& runs = as_reserved ? group.runs : report->second->releases;
      const auto same = std::find_if(executed.begin() + static_cast<std::ptrdiff_t>(first), executed.end(),
                                     [&](const LedgerGroup& other) { return other.runs == runs; });
      if (same != executed.end()) {
        same->clients.push_back(client);
        continue;
      }
      LedgerGroup own = group;
      own.clients = {client};
      own.runs = runs;
      executed.push_back(std::move(own));
    }
  }
  recorded_ = executed;
  ledger_->close(round, std::move(executed));
}

std::optional<SpentSoFar> RunPrivacy::example_spent() const {
  if (!setup_.privacy.example) return std::nullopt;
  const LevelSetup& level = *setup_.privacy.example;
  const auto epsilons = history_epsilons(ledger_->book().totals(), level.accountant, level.delta, true);
  return SpentSoFar{*std::ranges::max_element(epsilons), level.delta};
}

std::optional<SpentSoFar> RunPrivacy::client_spent() const {
  if (!setup_.privacy.client) return std::nullopt;
  const LevelSetup& level = *setup_.privacy.client;
  return SpentSoFar{epsilon_by(level.accountant, ledger_->spent_by_update(), level.delta).value, level.delta};
}

std::vector<PrivacyStatement> RunPrivacy::statements() {
  if (!ledger_) return {};
  ledger_->sync();
  return model_statements(ledger_->book());
}

namespace {

// What a client with this plan has spent at example level after its first step of this round (1, 2, ...).
Spending after_first_step(const Setup& setup, const PrivatePlan& plan, std::uint64_t round) {
  const int epoch = setup.training.first_epoch(static_cast<std::uint32_t>(round));
  const std::uint64_t before = plan.releases_before(epoch);
  Spending spending = plan.spending(0, before, epoch);
  merge(spending, plan.spending(before, static_cast<std::uint64_t>(plan.lots_per_step(epoch)), setup.training.epochs));
  merge(spending, setup.privacy.example->beside(round));
  return spending;
}

// What a client has spent at client level after this many rounds.
Spending after_rounds(const Setup& setup, std::optional<Participations>& participations, std::uint64_t count) {
  const PrivacySetup& privacy = setup.privacy;
  Spending spending = privacy.client->beside(count);
  const std::uint64_t charged = participations ? participations->most(static_cast<std::uint32_t>(count)) : count;
  if (privacy.client_release.correlation.on() && participations)
    merge(spending, of_rounds(privacy.client_release, count, charged));
  else if (charged > 0)
    merge(spending, privacy.client_releases(charged));
  return spending;
}

std::optional<Participations> participations_of(const Setup& setup) {
  return counts_participations(setup) ? std::optional<Participations>(std::in_place, setup) : std::nullopt;
}

// Refuses a level's budget if it is below the least that one of these histories needs.
void require_first_round(const LevelSetup& level, std::string_view prefix, std::span<const Spending> histories) {
  if (std::ranges::any_of(histories, [&](const Spending& one) { return covers(level, one); })) return;
  double least = std::numeric_limits<double>::infinity();
  for (const Spending& one : histories) least = std::min(least, epsilon_by(level.accountant, one, level.delta).value);
  throw usage_error(std::string(prefix) + "epsilon is " + number_text(level.epsilon) + ", which pays for no round: with " +
                    std::string(prefix) + "noise-multiplier " + number_text(level.noise_multiplier) + " and delta " +
                    number_text(level.delta) + " the first round needs " + rounded_up(least) + "; leave " + std::string(prefix) +
                    "noise-multiplier out to have it calibrated");
}

}  // namespace

void check_first_round(const Setup& setup) {
  const PrivacySetup& privacy = setup.privacy;
  // Calibrated noise pays for all planned rounds.
  const auto may_fail = [](const auto& level) { return level && level->epsilon > 0 && !level->calibrated; };
  std::vector<Spending> lots;
  if (may_fail(privacy.example))
    for (const auto& plan : privacy.plans) lots.push_back(after_first_step(setup, *plan.second, 1));
  if (!lots.empty()) require_first_round(*privacy.example, "", lots);
  if (!may_fail(privacy.client)) return;
  auto participations = participations_of(setup);
  require_first_round(*privacy.client, privacy.example ? "client-" : "",
                      std::vector<Spending>{after_rounds(setup, participations, 1)});
}

double rounds_within_budget(const Setup& setup) {
  const PrivacySetup& privacy = setup.privacy;
  double rounds = setup.configuration.rounds;
  if (privacy.example && privacy.example->epsilon > 0) {
    const LevelSetup& level = *privacy.example;
    const auto all = static_cast<std::uint64_t>(setup.configuration.rounds);
    std::uint64_t most = 0;
    std::uint64_t evaluated = all;  // the run ends before an evaluation that a client without a step left cannot pay for
    for (const auto& size : privacy.plans) {
      const std::uint64_t last = largest_count(all, 1, [&](std::uint64_t round) {
        return meets(level.accountant, after_first_step(setup, *size.second, round), level.epsilon, level.delta);
      });
      most = std::max(most, last);
      if (level.evaluation) evaluated = std::min(evaluated, (last / level.evaluate_every + 1) * level.evaluate_every - 1);
    }
    most = std::min(most, evaluated);
    // If clients are protected too, each pays for every round (RunPrivacy::reserve).
    const double rate = privacy.client ? 1 : participation_rate(setup.configuration, setup.clients.size());
    rounds = std::min(rounds, std::ceil(static_cast<double>(most) / rate));
  }
  if (privacy.client && privacy.client->epsilon > 0) {
    const LevelSetup& level = *privacy.client;
    auto participations = participations_of(setup);
    const auto fits = [&](std::uint64_t count) {
      return meets(level.accountant, after_rounds(setup, participations, count), level.epsilon, level.delta);
    };
    rounds = std::min(rounds, static_cast<double>(largest_count(static_cast<std::uint64_t>(rounds), 1, fits)));
  }
  return rounds;
}

}  // namespace fedstride

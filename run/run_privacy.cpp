#include "run/run_privacy.hpp"

#include <algorithm>
#include <map>

#include "core/hash.hpp"
#include "core/key_file.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/ledger/ledger_start.hpp"
#include "run/outside.hpp"

namespace fedstride {
namespace {

std::string budget_text(const LevelSetup& level) {
  return "epsilon " + number_text(level.epsilon) + " at delta " + number_text(level.delta);
}

/// All that a guarantee takes as public, each with its source.
std::vector<std::string> constants_of(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  std::vector<std::string> constants = setup.data.facts;
  const std::string partition = "partition '" + std::string(configuration.partition.name()) + "'";
  const Dealing dealing = configuration.partition->dealing();
  constants.push_back("who holds which rows (" + partition + ")" +
                      (dealing == Dealing::labels     ? ", dealt out by labels: what that tells of them is not protected"
                       : dealing == Dealing::features ? ", dealt out by inputs: what that tells of them is not protected"
                                                      : ""));
  if (setup.data.has_public_test) constants.emplace_back("the test part");
  if (!configuration.init.empty())
    constants.emplace_back("the first weights, from a file (init): whatever they were trained on is not counted here");
  if (!setup.privacy.client) return constants;
  const auto clients = static_cast<double>(setup.row_counts.size());
  const double rate = setup.rules.cohort->rate(setup.row_counts.size());
  constants.push_back("clients N " + number_text(clients) + ", expected in a round " + number_text(rate * clients) +
                      ", the sum of a round is divided by " + number_text(setup.rules.sum.denominator));
  if (configuration.optimizer->is_told())
    constants.push_back("rounds T " + std::to_string(configuration.rounds) + " and clients a round M " +
                        number_text(rate * clients) + ", by which optimizer '" + std::string(configuration.optimizer.name()) +
                        "' is planned");
  return constants;
}

LedgerHeader header_of(const Setup& setup) {
  LedgerHeader header{.source = std::string(choice_name(setup.configuration.randomness)),
                      .clients = static_cast<std::uint32_t>(setup.rows.size()),
                      .statements = {},
                      .constants = constants_of(setup)};
  const auto add = [&](Level kind, const LevelSetup& level) -> LedgerStatement& {
    header.statements.push_back({.level = kind,
                                 .accountant = std::string(part_name(level.accountant)),
                                 .delta = level.delta,
                                 .neighbours = level.neighbours});
    if (level.epsilon > 0) header.statements.back().epsilon = level.epsilon;
    return header.statements.back();
  };
  if (setup.privacy.example) add(Level::example, *setup.privacy.example).own_code = is_clipped_outside(setup.configuration);
  if (setup.privacy.client) {
    LedgerStatement& statement = add(Level::client, *setup.privacy.client);
    statement.largest_weight = setup.privacy.largest_weight;
    statement.bound = setup.privacy.client->clip;
    statement.noise_at = choice_name(client_level(setup.configuration.privacy)->client_noise);
  }
  return header;
}

// True if the releases made are the first of those reserved.
bool goes_with(const std::vector<ReleaseRun>& made, const std::vector<ReleaseRun>& reserved) {
  auto next = reserved.begin();
  std::uint64_t used = 0;  // of *next
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

RunPrivacy::RunPrivacy(const Setup& setup, const std::filesystem::path& folder, const std::optional<LedgerMark>& mark,
                       const std::optional<SecretKey>& key, std::optional<ClientId> own)
    : setup_(setup), own_(own) {
  if (!setup.privacy.on()) return;
  identity_ = run_identity(setup, key);
  const auto path = folder / "ledger.jsonl";
  const std::string_view secret = key ? bytes_of(*key) : std::string_view{};
  ledger_.emplace(mark ? Ledger::open(path, *mark, secret) : Ledger::create(path, header_of(setup), secret));
}

// The releases of one noisy quantity at each level that is on, as number `first`.
void RunPrivacy::add_noisy(LedgerGroups& groups, Quantity quantity, double noise_multiplier, std::uint64_t first) const {
  for (const auto& [level, setup] :
       {std::pair(Level::example, &setup_.privacy.example), {Level::client, &setup_.privacy.client}}) {
    if (!*setup) continue;
    groups.push_back({.level = level,
                      .sampling = Sampling::full,
                      .neighbours = (*setup)->neighbours,
                      .first = first,
                      .runs = {{noise_multiplier, 1, 1}},
                      .quantity = quantity});
  }
}

void RunPrivacy::enter_once() {
  LedgerGroups groups;
  if (!setup_.privacy.components.empty()) {
    const Releases& release = setup_.privacy.components.front();
    groups.push_back({.sampling = Sampling::full,
                      .neighbours = release.neighbours,
                      .runs = {{release.noise_multiplier, 1, 1}},
                      .quantity = Quantity::components});
  }
  if (setup_.data.normalises_privately) add_noisy(groups, Quantity::moments, setup_.configuration.normalise_noise, 0);
  if (groups.empty()) return;
  ledger_->reserve(0, Hash().text(identity_).text("components").hex(), groups);
  ledger_->close(0, groups);
}

RunPrivacy::Classes RunPrivacy::classes(const SpendingTotals& before) const {
  Classes found{.all = {}, .of = std::vector(setup_.rows.size(), kNoClass)};
  std::map<std::pair<const PrivatePlan*, std::uint32_t>, std::size_t> places;
  for (const ClientId client : all_clients(setup_.rows.size())) {
    const auto& plan = setup_.training.privacy->plans[client];
    if (plan == nullptr) continue;  // a client without rows releases nothing
    const auto [place, fresh] = places.try_emplace({plan.get(), before.history_of(client)}, found.all.size());
    if (fresh) found.all.push_back({plan.get(), &before.examples(client)});
    found.of[client] = place->second;
  }
  return found;
}

// The largest number of the next releases that the level's budget still covers.
std::uint64_t RunPrivacy::within_budget(const Class& alike, std::uint64_t first, std::uint64_t planned, bool evaluates) const {
  const LevelSetup& level = *setup_.privacy.example;
  if (level.epsilon == 0) return planned;
  const auto fits = [&](std::uint64_t count) {
    Spending spending = *alike.spent;
    if (evaluates) merge(spending, *level.evaluation);
    merge(spending, alike.plan->spending(first, count, setup_.training.epochs));
    return delta_by(level.accountant, spending, level.epsilon).value <= level.delta;
  };
  return largest_count(planned, planned, fits);
}

bool RunPrivacy::evaluates(std::uint32_t round) const {
  return setup_.configuration.evaluate == EvaluateRule::privately && setup_.rules.evaluated.has(round);
}

// Everyone pays for an evaluation, whoever has a step left.
bool RunPrivacy::covers_evaluation(const Class& alike) const {
  const LevelSetup& level = *setup_.privacy.example;
  if (level.epsilon == 0) return true;
  Spending spending = *alike.spent;
  merge(spending, *level.evaluation);
  return delta_by(level.accountant, spending, level.epsilon).value <= level.delta;
}

// Where clients are protected, who is in a cohort must not show in anything that is published: then every client is charged as
// if it took part in every round, and no budget, epsilon or end of the run depends on the draw.
std::vector<ClientId> RunPrivacy::charged_clients(std::uint32_t round) const {
  if (own_) return {*own_};
  const std::size_t clients = setup_.rows.size();
  return setup_.privacy.client ? all_clients(clients) : setup_.rules.cohort->sample(setup_.rules.question(round, {}));
}

RunPrivacy::Permission RunPrivacy::reserve(std::uint32_t round, const std::string& model_hash) {
  Permission permission;
  if (!ledger_) return permission;
  reserved_.clear();
  const SpendingTotals before = ledger_->book().before(round);
  const auto client_count = setup_.rows.size();
  const bool evaluates = this->evaluates(round);
  if (setup_.privacy.client) {
    const LevelSetup& level = *setup_.privacy.client;
    const Releases& next = setup_.privacy.client_release;
    Spending spending = before.updates();
    merge(spending, next);
    if (evaluates) merge(spending, *level.evaluation);
    if (level.epsilon > 0 && delta_by(level.accountant, spending, level.epsilon).value > level.delta) {
      permission.refusal = "another round would pass the clients' budget of " + budget_text(level);
      return permission;
    }
    reserved_.push_back({.level = Level::client,
                         .clients = {},
                         .sampling = next.sampling,
                         .neighbours = next.neighbours,
                         .rate = next.rate,
                         .passes = 0,
                         .first = round - 1,
                         .runs = {{next.noise_multiplier, level.clip, 1}},
                         .largest_weight = setup_.privacy.largest_weight});
  }
  if (setup_.privacy.example) {
    permission.releases.assign(client_count, 0);
    const int first_epoch = setup_.training.first_epoch(round);
    const Classes classes = this->classes(before);
    std::vector<std::uint64_t> allowed;  // by class
    for (const Class& alike : classes.all) {
      const std::uint64_t first = alike.plan->releases_before(first_epoch);
      const std::uint64_t planned = alike.plan->releases_before(first_epoch + setup_.training.epochs) - first;
      const std::uint64_t most = within_budget(alike, first, planned, evaluates);
      allowed.push_back(most < static_cast<std::uint64_t>(alike.plan->lots_per_step(first_epoch)) ? 0 : most);
    }
    if (std::ranges::all_of(allowed, [](std::uint64_t count) { return count == 0; })) {
      permission.refusal = "another step would pass every client's budget of " + budget_text(*setup_.privacy.example);
      return permission;
    }
    if (evaluates && !std::ranges::all_of(classes.all, [&](const Class& alike) { return covers_evaluation(alike); })) {
      permission.refusal = "another evaluation would pass a client's budget of " + budget_text(*setup_.privacy.example);
      return permission;
    }
    for (std::size_t client = 0; client < client_count; ++client)
      if (classes.of[client] != kNoClass) permission.releases[client] = allowed[classes.of[client]];
    std::vector<std::vector<ClientId>> charged(classes.all.size());
    for (const ClientId client : charged_clients(round))
      if (classes.of[client] != kNoClass) charged[classes.of[client]].push_back(client);
    for (std::size_t i = 0; i < charged.size(); ++i) {
      if (charged[i].empty() || allowed[i] == 0) continue;
      const PrivatePlan& plan = *classes.all[i].plan;
      const std::uint64_t first = plan.releases_before(first_epoch);
      const bool shuffled = plan.sampling() == Sampling::shuffle;
      reserved_.push_back({.level = Level::example,
                           .clients = std::move(charged[i]),
                           .sampling = plan.sampling(),
                           .neighbours = setup_.privacy.example->neighbours,
                           .rate = plan.rate(),
                           .passes = shuffled ? static_cast<std::uint64_t>(setup_.training.epochs) : 0,
                           .first = first,
                           .runs = plan.noise().runs(first, allowed[i]),
                           .largest_weight = 1});
    }
  }
  if (evaluates) add_noisy(reserved_, Quantity::evaluation, setup_.configuration.evaluate_noise, round - 1);
  ledger_->reserve(round, Hash().text(identity_).text(model_hash).hex(), reserved_);
  return permission;
}

std::string RunPrivacy::beyond(const PrivacyLimit& limit, std::uint32_t round, std::uint64_t releases) const {
  if (!ledger_ || !own_) return {};
  const SpendingTotals before = ledger_->book().before(round);
  const auto complaint = [&](const LevelSetup& level, const char* name, const Spending& spending) -> std::string {
    if (delta_by(level.accountant, spending, limit.epsilon).value <= limit.delta) return {};
    return "after it this client's ledger would say epsilon " +
           number_text(epsilon_by(level.accountant, spending, limit.delta).value) + " at " + name + " level, delta " +
           number_text(limit.delta) + "; its max-epsilon is " + number_text(limit.epsilon);
  };
  const auto add_evaluation = [&](const LevelSetup& level, Spending& spending) {
    if (evaluates(round)) merge(spending, *level.evaluation);
  };
  if (setup_.privacy.client) {
    Spending spending = before.updates();
    merge(spending, setup_.privacy.client_release);
    add_evaluation(*setup_.privacy.client, spending);
    if (std::string why = complaint(*setup_.privacy.client, "client", spending); !why.empty()) return why;
  }
  const PrivatePlan* plan = setup_.privacy.example ? setup_.training.privacy->plans[*own_].get() : nullptr;
  if (plan == nullptr) return {};
  const int first_epoch = setup_.training.first_epoch(round);
  const std::uint64_t first = plan->releases_before(first_epoch);
  const std::uint64_t planned = plan->releases_before(first_epoch + setup_.training.epochs) - first;
  Spending spending = before.examples(*own_);
  merge(spending, plan->spending(first, std::min(releases, planned), setup_.training.epochs));
  add_evaluation(*setup_.privacy.example, spending);
  return complaint(*setup_.privacy.example, "example", spending);
}

void RunPrivacy::record(std::uint32_t round, const std::vector<ClientReport>& reports) {
  if (!ledger_) return;
  // As reserved, but with the releases each client has made; clients of a group that made the same stay together. Where
  // clients are protected, one that made fewer would show that it was drawn: it counts in full.
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
          report == by_client.end() || (!own_ && setup_.privacy.client && goes_with(report->second->releases, group.runs));
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
  ledger_->close(round, executed);
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
  return model_statements(ledger_->book(), [&](Level level) {
    return level == Level::example ? setup_.privacy.example->accountant : setup_.privacy.client->accountant;
  });
}

}  // namespace fedstride

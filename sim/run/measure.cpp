#include "sim/run/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

#include "client/canaries.hpp"
#include "client/outside_training.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/passing_folder.hpp"
#include "core/seconds_since.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "dp/accountants/one_run_audit.hpp"
#include "dp/accountants/spending.hpp"
#include "sim/prepare/private_inputs.hpp"
#include "sim/run/drive.hpp"
#include "sim/run/run.hpp"
#include "sim/run/run_privacy.hpp"

namespace fedstride {
namespace {

// Canaries that take part as clients, numbered after the other clients, and what is known of the last round. Where each client adds
// the noise itself, excluded canaries take part too, with the opposite update.
struct ClientCanaries {
  Canaries canaries;
  ClientId first;  ///< client number of the first canary
  double weight;
  std::vector<std::uint32_t> members = {};  ///< the canary of each such client
  std::optional<LocalRelease> local = {};   ///< how each adds its noise
  std::vector<std::uint32_t> drawn = {};
  Vector known = {};  ///< sum of the other clients' updates
  double bound = 0;   ///< bound on updates in that round
};

// Lets the run's own fleet train the other clients, and adds the canaries' updates, which have `size` entries, like those of any
// client.
class CanaryFleet final : public Fleet {
 public:
  CanaryFleet(std::shared_ptr<Fleet> fleet, ClientCanaries& clients, double clip, std::size_t size)
      : fleet_(std::move(fleet)), clients_(clients), clip_(clip), size_(size) {}

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    std::vector<ClientId> others;
    clients_.drawn.clear();
    for (const ClientId client : cohort)
      if (client < clients_.first)
        others.push_back(client);
      else if (const std::uint32_t canary = clients_.members[client - clients_.first]; clients_.canaries.in(canary))
        clients_.drawn.push_back(canary);
    const auto part = updates.fresh_part();
    fleet_->collect(task, others, *part);
    const PartOfSum sum = std::move(*part).hand_over();
    sum.sum.divided_by(1, clients_.known);
    updates.merge(sum);
    clients_.bound = updates.bound() > 0 ? updates.bound() : clip_;
    Vector update(size_), own(size_);
    ClientReport report;
    for (std::size_t i = 0; i < cohort.size(); ++i) {
      if (cohort[i] < clients_.first) continue;
      check_stop();
      report.client = cohort[i];
      const std::uint32_t canary = clients_.members[cohort[i] - clients_.first];
      update.assign(size_, 0);
      clients_.canaries.write(canary, clients_.canaries.in(canary) ? clients_.bound : -clients_.bound, update);
      if (clients_.local) {
        release_update(*clients_.local, task.round, report.client, update);
        clients_.canaries.copy(canary, view(std::as_const(update)), view(own));
      }
      updates.add({report, view(std::as_const(update))});
    }
    if (!clients_.local) return;
    const Vector nothing(size_);
    clients_.canaries.score(view(std::as_const(own)), view(nothing), 1, clients_.drawn, clients_.bound,
                            clients_.local->grid.deviation);
  }
  void end_round(std::uint32_t round) override { fleet_->end_round(round); }

 private:
  std::shared_ptr<Fleet> fleet_;
  ClientCanaries& clients_;
  double clip_;
  std::size_t size_;
};

// The run's aggregation, which also scores the canaries on its noisy sum. It is registered nowhere, so it cannot be chosen.
struct ScoredAggregation final : PartBase<SummingAggregation, ScoredAggregation> {
  static constexpr std::string_view kName{"scored"};
  static constexpr std::string_view kSummary = "the run's aggregation; canaries see what it sees";

  std::optional<Vector> mean_change(const ReleasedSum& sum) const override {
    if (const auto mean = sum.mean())
      clients->canaries.score(view(*mean), view(std::as_const(clients->known)), denominator, clients->drawn,
                              clients->bound * clients->weight, deviation / bound * clients->bound);
    return dynamic_cast<const SummingAggregation&>(*inner).mean_change(sum);
  }

  Aggregation inner = {};
  ClientCanaries* clients = nullptr;
  double denominator = 1;
  double deviation = 1;  ///< of the noise, for the first round's bound
  double bound = 1;
};

void check_measurable(const Configuration& configuration) {
  const auto refuse = [](const std::string& why) { throw usage_error("privacy measure: " + why); };
  if (!is_private(configuration)) refuse("dp is 'none', so there is no epsilon to measure; valid: example, client, both");
  if (is_trained_outside(configuration))
    refuse("your own code trains the clients; canaries can take part only in the program's own training");
  if (has_time(configuration))
    refuse("runs with devices, availability or a mode other than sync cannot be measured; leave these settings out");
  if (configuration.is_secure()) refuse("secure-aggregation is on, so nobody sees a noisy sum of known updates; valid: none");
  if (user_level(configuration.privacy) != nullptr)
    refuse("dp is 'user', whose records are not rows; valid: example, client, both");
  if (const auto* client = client_level(configuration.privacy);
      client != nullptr && !client->place().is_central && configuration.cohort.name() != "all")
    refuse("client-noise is '" + std::string(choice_name(client->client_noise)) +
           "' and some clients are not in a round; valid: cohort all");
}

// Chooses the client to whose rows canaries are added: of the run's own clients with lots, the one in the most rounds or, among
// ties, the one with the fewest rows, whose lots have the highest rate.
ClientId client_of_canaries(const Setup& setup) {
  std::vector<std::uint64_t> rounds(setup.clients.row_counts.size());
  for (std::uint32_t round = 1; round <= static_cast<std::uint32_t>(setup.configuration.rounds); ++round)
    for (const ClientId client : setup.rules.cohort->sample(setup.rules.question(round, {})))
      if (client < rounds.size()) ++rounds[client];
  ClientId best = 0;
  const auto rank = [&](ClientId client) {
    const bool has_plan = setup.training.privacy->plans[client] != nullptr;
    return std::tuple(has_plan, rounds[client], -static_cast<double>(setup.clients.row_counts[client]));
  };
  for (ClientId client = 1; client < rounds.size(); ++client)
    if (rank(client) > rank(best)) best = client;
  return best;
}

// The spending if noise is `ratio` times too small and records are drawn at `rate`.
Spending as_measured(Spending spending, double ratio, double rate) {
  for (Releases& releases : spending) {
    releases.noise_multiplier /= ratio;
    if (releases.sampling != Sampling::poisson) continue;
    releases.rate = std::min(1.0, rate);
    if (releases.rate == 1) releases.sampling = Sampling::full;
  }
  return spending;
}

struct LevelCanaries {
  const Canaries& canaries;
  const LevelSetup& level;
  const Spending& spending;  ///< a record's spending in the scored releases
  Vector moved;              ///< from the initial to the final model, with the sign of a contribution
};

/// What canaries reveal about one level, each bound at its share of the significance.
class LevelMeasurement {
 public:
  LevelMeasurement(const LevelCanaries& at, const PrivacyStatement& ledger, double significance)
      : at_(at),
        significance_(significance),
        is_gaussian_(std::ranges::all_of(at.spending, [](const Releases& one) { return one.sampling == Sampling::full; })),
        found_{.ledger = ledger,
               .canaries = at.canaries.count(),
               .releases = at.canaries.releases(),
               .largest_contribution = at.canaries.largest_contribution()} {}

  MeasuredLevel all() && {
    const Canaries& canaries = at_.canaries;
    if (canaries.releases() == 0) return std::move(found_);
    const Scores totals{canaries.totals(true), canaries.totals(false)};
    const Scores last{canaries.scores(view(at_.moved), true), canaries.scores(view(at_.moved), false)};
    constexpr std::size_t kLeast = 10;
    const bool has_guesses = std::min(totals[0].size(), totals[1].size()) >= kLeast;
    const bool has_last = has_guesses && std::ranges::all_of(at_.moved, [](float value) { return std::isfinite(value); });
    const std::size_t kinds = is_gaussian_ ? 2 : 1;
    each_ = significance_ / static_cast<double>(1 + (has_guesses ? kinds : 0) + (has_last ? kinds + 1 : 0));
    fit_noise_and_rate();
    if (has_guesses) guesses("every release", totals);
    if (has_last) {
      guesses("final model", last);
      add("final model", "fit of Gaussian scores", fitted_audit(last[0], last[1], at_.level.delta, each_).epsilon);
    }
    contradict();
    return std::move(found_);
  }

 private:
  using Scores = std::array<std::vector<double>, 2>;  ///< of canaries included and left out

  void add(const std::string& view, const std::string& method, double epsilon) {
    found_.bounds.push_back({view, method, epsilon, 1 - each_});
  }

  void guesses(const std::string& view, const Scores& scores) {
    const ScoredAudit audit = one_run_audit(scores[0], scores[1], at_.level.delta, each_);
    add(view, "guesses, any mechanism", audit.epsilon);
    if (is_gaussian_) add(view, "guesses, Gaussian mechanism", audit.gaussian_epsilon);
  }

  // Half of the significance is spent on noise and bound, over all groups, and half on the rate, over all canaries together and
  // each canary separately.
  void fit_noise_and_rate() {
    const std::vector<ScoreFit>& fits = at_.canaries.fits();
    const double of_group = each_ / 2 / static_cast<double>(fits.size());
    found_.ratio = fits.front().ratio();
    for (const ScoreFit& fit : fits) found_.least_ratio = std::max(found_.least_ratio, fit.least_ratio(of_group));
    fit_rate();
    constexpr double kNothing = 1e-3;  // smaller ratios and rates show nothing
    const bool is_drawn = found_.least_rate > kNothing * kNothing || is_gaussian_;
    if (is_drawn) found_.power = power(of_group);
    add("every release", "fit of noise, bound and rate",
        found_.least_ratio > kNothing && is_drawn ? epsilon_if(found_.least_ratio) : 0);
  }

  void fit_rate() {
    const Canaries& canaries = at_.canaries;
    const auto present = static_cast<std::uint64_t>(canaries.present().size());
    if (present == 0) return;
    std::uint64_t hits = 0;
    for (const std::uint64_t count : canaries.hits()) hits += count;
    const std::uint64_t trials = present * canaries.releases();
    found_.rate = static_cast<double>(hits) / static_cast<double>(trials);
    found_.least_rate = least_probability(hits, trials, each_ / 4);
    for (const std::uint32_t canary : canaries.present())
      found_.least_rate = std::max(found_.least_rate, least_probability(canaries.hits()[canary], canaries.releases(),
                                                                        each_ / 4 / static_cast<double>(present)));
  }

  /// The epsilon if noise is this many times too small and records are drawn at the least rate.
  double epsilon_if(double ratio) const {
    const Spending measured = as_measured(at_.spending, ratio, found_.least_rate);
    const Accountant accountant = unsound_by(Tight{}, measured).empty() ? Accountant{Tight{}} : at_.level.accountant;
    return epsilon_by(accountant, measured, at_.level.delta).value;
  }

  /// MeasuredLevel::power, from the least ratio above which the fit contradicts the ledger.
  double power(double significance) const {
    constexpr double kMostRatio = 4;
    constexpr int kHalvings = 10;
    constexpr std::uint32_t kTrials = 400;
    double low = 1, high = kMostRatio;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      (epsilon_if(middle) > found_.ledger.epsilon ? high : low) = middle;
    }
    if (high == kMostRatio) return 0;
    double missed = 1;
    for (const ScoreFit& fit : at_.canaries.fits())
      missed *= 1 - fit.power(MeasuredLevel::kLessNoise, high, significance, kTrials);
    return 1 - missed;
  }

  void contradict() {
    constexpr double kRounding = 1e-3;
    if (found_.largest_contribution > 1 + kRounding)
      found_.contradiction =
          "a row moved a sum by " + rounded_down(found_.largest_contribution) + " clip bounds; the ledger claims at most 1";
    for (const LowerBound& bound : found_.bounds) {
      if (!found_.contradiction.empty() || bound.epsilon <= found_.ledger.epsilon) continue;
      found_.contradiction = "epsilon is at least " + rounded_down(bound.epsilon) + " (" + bound.view + ", " + bound.method +
                             ", confidence " + number_text(1 - significance_) + "), above the ledger's " +
                             rounded_up(found_.ledger.epsilon) + " at delta " + number_text(found_.ledger.delta);
    }
  }

  const LevelCanaries& at_;
  double significance_;
  bool is_gaussian_;
  double each_ = 0;  ///< the share of each bound
  MeasuredLevel found_;
};

MeasuredLevel measured_level(const LevelCanaries& at, const PrivacyStatement& ledger, double significance) {
  return LevelMeasurement(at, ledger, significance).all();
}

// One training run with canaries.
class Measuring {
 public:
  Measuring(const Configuration& configuration, const MeasureOptions& options)
      : options_(options),
        setup_(prepared(configuration)),
        scored_(static_cast<std::uint32_t>(setup_.clients.row_counts.size())) {
    const std::optional<SecretKey> key = begin_secrets(setup_, folder_.path());
    privacy_.emplace(setup_, folder_.path(), std::nullopt, key);
    use_secrets(setup_, key);
    release_inputs(setup_, *privacy_, key);
    // The coins come from the run's own source; they differ from its other draws because canaries have their own Purpose.
    coins_ = source_of(setup_);
    place_among_clients();
    place_in_lots();
  }

  Measurement all() {
    const FleetMaker maker{[&](const FleetTask& task) -> std::shared_ptr<Fleet> {
      if (!clients_) return in_process_fleet(task);
      const std::size_t size = setup_.configuration.objective->update_size(setup_.model.size());
      return std::make_shared<CanaryFleet>(in_process_fleet(task), *clients_, setup_.privacy.client->clip, size);
    }};
    Drive drive(setup_, *privacy_, make_server(setup_), maker, folder_.path(), options_.stop,
                {.configuration = "measure", .model = setup_.initial});
    Measurement measurement;
    const auto start = std::chrono::steady_clock::now();
    while (drive.state.round < static_cast<std::uint32_t>(setup_.configuration.rounds)) {
      check_stop();
      RoundRecord record;
      try {
        if (!drive.next(record).empty()) break;
      } catch (const Interrupted&) {
        throw Stopped();
      }
      count(record.clients);
    }
    measurement.rounds = drive.state.round;
    measurement.seconds = seconds_since(start);
    conclude(drive.state.model, measurement);
    return measurement;
  }

 private:
  static Setup prepared(const Configuration& configuration) {
    check_measurable(configuration);
    require_fleet(configuration, {in_process_fleet});
    return prepare(configuration);
  }

  std::size_t wanted(std::uint64_t usual) const {
    return static_cast<std::size_t>(options_.canaries > 0 ? options_.canaries : usual);
  }

  void place_in_lots() {
    if (!setup_.privacy.example) return;
    PrivateTraining& lots = *setup_.training.privacy;
    lots.canaries = std::make_shared<Canaries>(setup_.model, setup_.training.unsent(), wanted(MeasureOptions::kExampleCanaries),
                                               coins_, 1, setup_.privacy.example->bound->counts());
    lots.canary_client = client_of_canaries(setup_);
  }

  void place_among_clients() {
    if (!setup_.privacy.client) return;
    clients_.emplace(
        ClientCanaries{.canaries = Canaries(setup_.model, setup_.training.unsent(), wanted(MeasureOptions::kClientCanaries),
                                            coins_, 2, setup_.privacy.client->bound->counts()),
                       .first = static_cast<ClientId>(setup_.clients.row_counts.size()),
                       .weight = setup_.privacy.largest_weight});
    RoundRules& rules = setup_.rules;
    clients_->local = setup_.training.local_release;
    clients_->members = clients_->canaries.present();
    if (clients_->local) {
      clients_->canaries.oppose_excluded();
      clients_->members.resize(clients_->canaries.count());
      std::iota(clients_->members.begin(), clients_->members.end(), 0U);
    }
    const std::size_t present = clients_->members.size();
    const auto weight = static_cast<std::uint64_t>(std::llround(clients_->weight));
    rules.sum.weights.insert(rules.sum.weights.end(), present, weight);
    if (!rules.rows.empty()) rules.rows.insert(rules.rows.end(), present, *std::ranges::max_element(setup_.clients.row_counts));
    if (clients_->local) return;
    if (const Correlation& correlation = rules.sum.release->correlation; !correlation.is_independent())
      clients_->canaries.correlate(noise_factor(correlation, static_cast<std::size_t>(setup_.configuration.rounds)));
    ScoredAggregation scored;
    scored.inner = rules.aggregation;
    scored.clients = &*clients_;
    scored.denominator = rules.sum.denominator;
    scored.deviation = rules.sum.release->noise.grid.deviation;
    scored.bound = setup_.privacy.client->clip;
    rules.aggregation = Aggregation(std::move(scored));
  }

  // Counts the scored sums among the ledger's entries for the round: at example level, only the sums of the canaries' client, and
  // only if it was drawn, even if the ledger charges clients that were not.
  void count(const std::vector<ClientReport>& reports) {
    for (LedgerGroup group : privacy_->recorded()) {
      if (group.quantity != Quantity::sums) continue;
      if (group.level == Level::example) {
        const ClientId client = setup_.training.privacy->canary_client;
        const auto report = std::ranges::find(reports, client, &ClientReport::client);
        if (report == reports.end() || !(group.clients.empty() || std::ranges::count(group.clients, client) > 0)) continue;
        group.clients = {client};
        group.runs = report->releases;
      }
      scored_.add(group);
    }
  }

  void conclude(const Vector& model, Measurement& measurement) {
    const std::vector<PrivacyStatement> statements = privacy_->statements();
    const double significance = (1 - options_.confidence) / static_cast<double>(std::max<std::size_t>(statements.size(), 1));
    for (const PrivacyStatement& statement : statements) {
      const bool of_examples = statement.level == Level::example;
      Vector moved(model.size());  // steps go against the gradient
      for (std::size_t i = 0; i < moved.size(); ++i)
        moved[i] = of_examples ? setup_.initial[i] - model[i] : model[i] - setup_.initial[i];
      const Canaries& canaries = of_examples ? *setup_.training.privacy->canaries : clients_->canaries;
      const LevelSetup& level = of_examples ? *setup_.privacy.example : *setup_.privacy.client;
      measurement.levels.push_back(measured_level(
          {canaries, level, of_examples ? scored_.examples(setup_.training.privacy->canary_client) : scored_.updates(),
           std::move(moved)},
          statement, significance));
    }
  }

  const MeasureOptions& options_;
  PassingFolder folder_{"measure"};
  Setup setup_;
  std::optional<RunPrivacy> privacy_ = {};
  RandomSource coins_{std::uint64_t{0}};
  std::optional<ClientCanaries> clients_ = {};
  SpendingTotals scored_;  ///< counted as in the ledger, for the scored releases
};

}  // namespace

Measurement measure_privacy(const Configuration& configuration, const MeasureOptions& options) {
  if (!(options.confidence > 0) || !(options.confidence < 1))
    throw usage_error("confidence is " + number_text(options.confidence) + "; it must be between 0 and 1");
  return Measuring(configuration, options).all();
}

}  // namespace fedstride

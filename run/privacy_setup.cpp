#include "run/privacy_setup.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "client/trained_ranges.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/key_file.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "run/neighbours.hpp"
#include "run/private_evaluation.hpp"
#include "run/private_moments.hpp"
#include "run/setup.hpp"

namespace fedstride {
namespace {

// "auto": the tightest accountant that has a bound for this spending.
Accountant accountant_for(AccountantChoice choice, const Spending& spending) {
  if (choice == AccountantChoice::automatic) {
    for (const std::string_view candidate : {"tight", "rdp"}) {
      Accountant accountant = make_part<Accountant>("accountant", candidate);
      if (unsound_by(accountant, spending).empty()) return accountant;
    }
  }
  const Accountant accountant =
      make_part<Accountant>("accountant", choice == AccountantChoice::automatic ? Tight::kName : choice_name(choice));
  if (const std::string why = unsound_by(accountant, spending); !why.empty())
    throw usage_error("accountant '" + std::string(part_name(accountant)) + "': " + why);
  return accountant;
}

// A level must have either a noise multiplier or a budget to calibrate it for.
void check_noise(const LevelSetup& level, std::string_view prefix) {
  if (level.noise_multiplier > 0 || level.epsilon > 0) return;
  const std::string flag(prefix);
  throw usage_error(flag + "noise-multiplier is 0; with privacy on it must be a number above 0, or name --" + flag +
                    "epsilon to have it calibrated");
}

PrivateRules private_rules(const ExampleSettings& settings, const Configuration& configuration) {
  const bool fixed_target = settings.target_epochs > 0;
  const std::int64_t all = static_cast<std::int64_t>(configuration.rounds) * configuration.local_epochs;
  if (all > 2'000'000'000)
    throw usage_error("rounds x local-epochs is " + number_text(all) + "; under privacy it must be 2000000000 at most");
  return {.sampling = make_choice<Sampling>("sampling", choice_name(settings.sampling)),
          .neighbours = example_neighbours(configuration),
          .batch = configuration.batch,
          .sampling_rate = settings.sampling_rate,
          .noise = {.clip = settings.clip,
                    .noise_multiplier = settings.noise_multiplier,
                    .clip_schedule = settings.clip_schedule,
                    .noise_schedule = settings.noise_schedule,
                    .gamma = settings.noise_decay,
                    .momentum = settings.noise_momentum},
          .target_epochs = fixed_target ? settings.target_epochs : static_cast<int>(all)};
}

// A client's spending in `epochs` epochs, and that beside its gradients.
Spending planned(const PrivatePlan& plan, int epochs, const Spending& beside) {
  Spending spending = plan.spending(0, plan.releases_before(epochs), epochs);
  merge(spending, beside);
  return spending;
}

// Adds the releases that a level pays for beside its sums.
void add_beside(const Setup& setup, LevelSetup& level, const Spending& components) {
  level.once = components;
  if (setup.data.normalises_privately)
    merge(level.once, noisy_mean_release(setup.configuration.normalise_noise, level.neighbours));
  if (setup.configuration.evaluate != EvaluateRule::privately) return;
  level.evaluation = noisy_mean_release(setup.configuration.evaluate_noise, level.neighbours);
  level.evaluate_every = static_cast<std::uint32_t>(setup.configuration.evaluate_every);
}

void prepare_examples(Setup& setup, const ExampleSettings& settings) {
  refuse_mixing_layers(setup.model.layers(), setup.model.line());
  PrivacySetup& privacy = setup.privacy;
  PrivateRules rules = private_rules(settings, setup.configuration);
  LevelSetup level{.accountant = {},
                   .delta = settings.delta,
                   .epsilon = settings.epsilon,
                   .neighbours = rules.neighbours,
                   .clip = settings.clip,
                   .noise_multiplier = settings.noise_multiplier};
  check_noise(level, "");
  add_beside(setup, level, privacy.components);
  const Spending beside = level.beside(static_cast<std::uint64_t>(setup.configuration.rounds));
  std::set<std::size_t> sizes;
  for (const std::uint64_t rows : setup.row_counts) sizes.insert(rows);
  sizes.erase(0);
  const Optimizer& optimizer = setup.training.optimizer;

  // Each size of client spends with its own rate; the client that spends most decides the noise of all.
  PrivateRules probe = rules;
  if (level.noise_multiplier == 0) probe.noise.noise_multiplier = 1;
  Spending any = beside;  // of an epoch of clients of every size: a lot may be all rows of the smallest
  for (const std::size_t size : sizes) merge(any, planned(PrivatePlan(probe, optimizer, size), 1, {}));
  level.accountant = accountant_for(settings.accountant, any);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    // Yu et al., Algorithm 1, line 2: with a target, the noise is the one a constant clip needs; the saving of a falling
    // clip pays for steps beyond the target.
    if (settings.target_epochs > 0) probe.noise.clip_schedule = ClipSchedule::constant;
    for (const std::size_t size : sizes) {
      const auto spending = [&](double noise_multiplier) {
        probe.noise.noise_multiplier = noise_multiplier;
        return planned(PrivatePlan(probe, optimizer, size), probe.target_epochs, beside);
      };
      level.noise_multiplier =
          std::max(level.noise_multiplier, calibrate(level.accountant, spending, level.epsilon, level.delta));
    }
  }
  rules.noise.noise_multiplier = level.noise_multiplier;
  PrivateTraining training;
  for (const std::size_t size : sizes) privacy.plans.emplace(size, std::make_shared<const PrivatePlan>(rules, optimizer, size));
  for (const std::uint64_t rows : setup.row_counts) {
    const auto plan = privacy.plans.find(rows);
    training.plans.push_back(plan == privacy.plans.end() ? nullptr : plan->second);
  }
  setup.training.privacy = std::move(training);
  privacy.example = level;
}

void prepare_clients(Setup& setup, const ClientSettings& settings, std::string_view prefix) {
  PrivacySetup& privacy = setup.privacy;
  const bool local = settings.client_noise == ClientNoiseBy::local;
  LevelSetup level{.accountant = {},
                   .delta = settings.client_delta,
                   .epsilon = settings.client_epsilon,
                   .neighbours = client_neighbours(setup.configuration),
                   .clip = settings.client_clip,
                   .noise_multiplier = settings.client_noise_multiplier};
  check_noise(level, prefix);
  add_beside(setup, level, {});
  const Spending beside = level.beside(static_cast<std::uint64_t>(setup.configuration.rounds));
  const std::size_t clients = setup.rows.size();
  const double rate = setup.rules.cohort->rate(clients);
  const bool amplified = !local && rate < 1 && setup.rules.cohort.as<PoissonCohort>() != nullptr;
  Releases release{.sampling = amplified ? Sampling::poisson : Sampling::full,
                   .neighbours = level.neighbours,
                   .rate = amplified ? rate : 1,
                   .noise_multiplier = level.noise_multiplier > 0 ? level.noise_multiplier : 1};
  Spending any = beside;
  merge(any, release);
  level.accountant = accountant_for(settings.client_accountant, any);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    const auto spending = [&](double noise_multiplier) {
      Releases all = release;
      all.noise_multiplier = noise_multiplier;
      all.count = static_cast<std::uint64_t>(setup.configuration.rounds);
      Spending everything = beside;
      merge(everything, all);
      return everything;
    };
    level.noise_multiplier = calibrate(level.accountant, spending, level.epsilon, level.delta);
  }
  release.noise_multiplier = level.noise_multiplier;
  privacy.client_release = release;

  double total = 0;
  std::uint64_t largest = 1;
  for (const std::uint64_t weight : setup.rules.sum.weights) {
    total += static_cast<double>(weight);
    largest = std::max(largest, weight);
  }
  privacy.largest_weight = static_cast<double>(largest);
  setup.rules.sum.denominator = rate * total;
  const auto trained = trained_ranges(setup.model, setup.training.unsent(), setup.training.objective->sends() ? 2 : 1);
  const UpdateClip clip(level.clip, settings.clip_per == ClipPer::layer ? trained : std::vector<ParameterRange>{});
  const double deviation = level.noise_multiplier * level.clip;
  if (local)
    setup.training.local_release = LocalRelease{clip, deviation, trained, RandomSource(std::uint64_t{0})};
  else
    setup.rules.sum.release = CentralRelease{
        clip,
        {.standard_deviation = deviation * privacy.largest_weight, .discrete = settings.client_noise == ClientNoiseBy::discrete},
        trained,
        RandomSource(std::uint64_t{0})};
  privacy.client = level;
}

// Published results are functions of accounted releases and of public facts, so there must be releases, and noise that nobody
// can draw again.
void require_publishable(const Setup& setup) {
  if (!setup.configuration.publishable) return;
  if (!setup.privacy.on())
    throw usage_error("publishable is true with dp 'none'; only what a privacy guarantee covers may be published: name --dp");
  if (setup.configuration.randomness == Randomness::seeded)
    throw usage_error(
        "publishable is true with randomness 'seeded'; the seed lies beside the results and gives the noise away: "
        "only secret is valid");
}

}  // namespace

Spending LevelSetup::beside(std::uint64_t rounds) const {
  Spending spending = once;
  if (!evaluation) return spending;
  Releases evaluations = *evaluation;
  evaluations.count = rounds / evaluate_every;
  if (evaluations.count > 0) merge(spending, evaluations);
  return spending;
}

void prepare_privacy(Setup& setup) {
  const Privacy& chosen = setup.configuration.privacy;
  check_private_moments(setup);
  if (const auto* settings = example_level(chosen)) prepare_examples(setup, *settings);
  if (const auto* settings = client_level(chosen))
    prepare_clients(setup, *settings, chosen.as<BothPrivacy>() != nullptr ? "client-" : "");
  check_aggregation(setup.rules.aggregation, setup.rules.attack.attack, setup.rules.sum);
  setup.rules.cohort_source = RandomSource(setup.configuration.seed);
  check_private_evaluation(setup);
  if (setup.configuration.evaluate == EvaluateRule::privately)
    setup.rules.evaluated.last = 0;  // every so many rounds, as counted
  require_publishable(setup);
  if (setup.privacy.on()) use_source(setup, private_source(setup, std::nullopt));
}

bool rounds_decide_noise(const Setup& setup) {
  const auto* settings = example_level(setup.configuration.privacy);
  const bool scheduled = settings != nullptr && (settings->clip_schedule != ClipSchedule::constant ||
                                                 settings->noise_schedule != NoiseSchedule::constant);
  const bool example = setup.privacy.example && settings->target_epochs == 0 && (setup.privacy.example->calibrated || scheduled);
  return example || (setup.privacy.client && setup.privacy.client->calibrated);
}

double rounds_within_budget(const Setup& setup) {
  const PrivacySetup& privacy = setup.privacy;
  double rounds = setup.configuration.rounds;
  if (privacy.example && privacy.example->epsilon > 0) {
    const LevelSetup& level = *privacy.example;
    // True if a client still has a step left when that round (1, 2, ...) begins.
    const auto begins = [&](const PrivatePlan& plan, std::uint64_t round) {
      const int epoch = setup.training.first_epoch(static_cast<std::uint32_t>(round));
      const auto step = static_cast<std::uint64_t>(plan.lots_per_step(epoch));
      const std::uint64_t before = plan.releases_before(epoch);
      Spending spending = plan.spending(0, before, epoch);
      merge(spending, plan.spending(before, step, setup.training.epochs));
      merge(spending, level.beside(round));
      return meets(level.accountant, spending, level.epsilon, level.delta);
    };
    const auto all = static_cast<std::uint64_t>(setup.configuration.rounds);
    std::uint64_t most = 0;
    std::uint64_t evaluated = all;  // a client without a step left has no evaluation left either, which ends the run
    for (const auto& size : privacy.plans) {
      const std::uint64_t last = largest_count(all, 1, [&](std::uint64_t round) { return begins(*size.second, round); });
      most = std::max(most, last);
      if (level.evaluation) evaluated = std::min(evaluated, (last / level.evaluate_every + 1) * level.evaluate_every - 1);
    }
    most = std::min(most, evaluated);
    // Where clients are protected too, every one pays for every round (RunPrivacy::reserve).
    const double rate = privacy.client ? 1 : setup.rules.cohort->rate(setup.row_counts.size());
    rounds = std::min(rounds, std::ceil(static_cast<double>(most) / rate));
  }
  if (privacy.client && privacy.client->epsilon > 0) {
    const LevelSetup& level = *privacy.client;
    const auto fits = [&](std::uint64_t count) {
      Releases all = privacy.client_release;
      all.count = count;
      Spending spending = level.beside(count);
      merge(spending, all);
      return meets(level.accountant, spending, level.epsilon, level.delta);
    };
    rounds = std::min(rounds, static_cast<double>(largest_count(static_cast<std::uint64_t>(rounds), 1, fits)));
  }
  return rounds;
}

std::string releases_identity(const Setup& setup) {
  Hash hash;
  hash.text(identity(setup));
  for (const auto& level : {setup.privacy.example, setup.privacy.client})
    if (level) hash.value(level->noise_multiplier).value(level->clip);
  return hash.hex();
}

std::string run_identity(const Setup& setup, const std::optional<SecretKey>& key) {
  const std::string plain = releases_identity(setup);
  return key ? keyed_hash(*key, "fedstride: identity of " + plain) : plain;
}

RandomSource private_source(const Setup& setup, const std::optional<SecretKey>& key) {
  const std::string inputs = releases_identity(setup);
  if (key) return RandomSource(derived_key(*key, "fedstride: noise of " + inputs));
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
  if (setup.privacy.client) setup.rules.cohort_source = source;
}

}  // namespace fedstride

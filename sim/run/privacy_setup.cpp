#include "sim/run/privacy_setup.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "dp/noise/pca.hpp"
#include "server/cohorts.hpp"
#include "sim/run/neighbours.hpp"

namespace fedstride {
namespace {

// "auto" is the tightest accountant with a bound for this spending.
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

PrivateRules private_rules(const ExampleSettings& settings, const Configuration& configuration) {
  const bool fixed_target = settings.target_epochs > 0;
  const std::int64_t all = static_cast<std::int64_t>(configuration.rounds) * configuration.local_epochs;
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

// A client's spending in `epochs` epochs, plus that of releases other than gradients.
Spending planned(const PrivatePlan& plan, int epochs, const Spending& beside) {
  Spending spending = plan.spending(0, plan.releases_before(epochs), epochs);
  merge(spending, beside);
  return spending;
}

// Sets the releases, other than sums, that a level pays for.
void add_beside(const DataSetup& setup, LevelSetup& level, const Spending& components) {
  const Configuration& configuration = setup.configuration;
  level.once = components;
  if (setup.data.normalizes_privately) merge(level.once, noisy_mean_release(configuration.normalize_noise, level.neighbours));
  if (configuration.evaluate != EvaluateRule::privately) return;
  level.evaluation = noisy_mean_release(configuration.evaluate_noise, level.neighbours);
  level.evaluate_every = static_cast<std::uint32_t>(configuration.evaluate_every);
}

void add_example_level(PrivacySetup& privacy, const DataSetup& setup, const Model& model, const ExampleSettings& settings) {
  refuse_mixing_layers(model.layers(), model.line());
  const Configuration& configuration = setup.configuration;
  if (settings.components > 0)
    privacy.components = {components_release(settings.components_noise, example_neighbours(configuration))};
  PrivateRules rules = private_rules(settings, configuration);
  LevelSetup level{.accountant = {},
                   .delta = settings.delta,
                   .epsilon = settings.epsilon,
                   .neighbours = rules.neighbours,
                   .clip = settings.clip,
                   .noise_multiplier = settings.noise_multiplier};
  add_beside(setup, level, privacy.components);
  const Spending beside = level.beside(static_cast<std::uint64_t>(configuration.rounds));
  std::set<std::size_t> sizes(setup.clients.row_counts.begin(), setup.clients.row_counts.end());
  sizes.erase(0);
  const Optimizer& optimizer = configuration.optimizer;

  // The sampling rate depends on the client's size; the client that spends most determines the noise of all.
  PrivateRules probe = rules;
  if (level.noise_multiplier == 0) probe.noise.noise_multiplier = 1;
  Spending any = beside;  // an epoch of clients of every size: a lot may have all rows of the smallest
  for (const std::size_t size : sizes) merge(any, planned(PrivatePlan(probe, optimizer, size), 1, {}));
  level.accountant = accountant_for(settings.accountant, any);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    // Yu et al., Algorithm 1, line 2: with a target, the noise is that of a constant clip; what a falling clip saves pays for steps
    // beyond the target.
    if (settings.target_epochs > 0) probe.noise.clip_schedule = ClipSchedule::constant;
    for (const std::size_t size : sizes) {
      const auto spending = [&](double noise_multiplier) {
        probe.noise.noise_multiplier = noise_multiplier;
        return planned(PrivatePlan(probe, optimizer, size), probe.target_epochs, beside);
      };
      // A curve of bins takes longer; most sizes need no more noise than one before.
      if (probe.sampling == Sampling::balls_in_bins && level.noise_multiplier > 0 &&
          meets(level.accountant, spending(level.noise_multiplier), level.epsilon, level.delta))
        continue;
      level.noise_multiplier =
          std::max(level.noise_multiplier, calibrate(level.accountant, spending, level.epsilon, level.delta));
    }
  }
  rules.noise.noise_multiplier = level.noise_multiplier;
  for (const std::size_t size : sizes) privacy.plans.emplace(size, std::make_shared<const PrivatePlan>(rules, optimizer, size));
  privacy.example = std::move(level);
}

void add_client_level(PrivacySetup& privacy, const DataSetup& setup, const Model& model, const ClientSettings& settings) {
  const Configuration& configuration = setup.configuration;
  LevelSetup level{.accountant = {},
                   .delta = settings.client_delta,
                   .epsilon = settings.client_epsilon,
                   .neighbours = client_neighbours(configuration),
                   .clip = settings.client_clip,
                   .noise_multiplier = settings.client_noise_multiplier};
  add_beside(setup, level, {});
  const Spending beside = level.beside(static_cast<std::uint64_t>(configuration.rounds));
  const double rate = participation_rate(configuration, setup.clients.size());
  privacy.shares = plan_shares(setup, model);
  // Members of a cohort know that they are, and whom noise in shares protects against may be members.
  const bool amplified = amplifies_cohort(configuration) && rate < 1;
  const bool binned = amplified && configuration.cohort.as<BinsCohort>() != nullptr;
  Releases release{.sampling = binned      ? Sampling::balls_in_bins
                               : amplified ? Sampling::poisson
                                           : Sampling::full,
                   .neighbours = level.neighbours,
                   .rate = amplified ? rate : 1,
                   .noise_multiplier = level.noise_multiplier > 0 ? level.noise_multiplier : 1,
                   .passes = binned ? std::uint64_t{1} : 0};
  const auto with_noise = [&](double noise_multiplier) {
    if (privacy.shares) return privacy.shares->release(noise_multiplier, level.neighbours);
    Releases one = release;
    one.noise_multiplier = noise_multiplier;
    return one;
  };
  release = with_noise(release.noise_multiplier);
  Spending any = beside;
  merge(any, release);
  level.accountant = accountant_for(settings.client_accountant, any);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    const auto spending = [&](double noise_multiplier) {
      Spending everything = beside;
      merge(everything, PrivacySetup::in_rounds(with_noise(noise_multiplier), static_cast<std::uint64_t>(configuration.rounds)));
      return everything;
    };
    level.noise_multiplier = calibrate(level.accountant, spending, level.epsilon, level.delta);
  }
  privacy.client_release = with_noise(level.noise_multiplier);
  const std::vector<std::uint64_t> weights = client_weights(setup);
  if (!weights.empty()) privacy.largest_weight = std::max(1.0, static_cast<double>(std::ranges::max(weights)));
  privacy.client = std::move(level);
}

}  // namespace

bool amplifies_cohort(const Configuration& configuration) {
  const ClientSettings* settings = client_level(configuration.privacy);
  return settings != nullptr && !has_time(configuration) && settings->client_noise != ClientNoiseBy::local &&
         !settings->has_shares() &&
         (configuration.cohort.as<PoissonCohort>() != nullptr || configuration.cohort.as<BinsCohort>() != nullptr);
}

Releases PrivacySetup::in_rounds(Releases release, std::uint64_t rounds) {
  release.count = rounds;
  if (release.sampling != Sampling::balls_in_bins) return release;
  const std::uint64_t bins = lots_an_epoch(release.rate);
  release.passes = (rounds + bins - 1) / bins;
  return release;
}

Spending LevelSetup::beside(std::uint64_t rounds) const {
  Spending spending = once;
  if (!evaluation) return spending;
  Releases evaluations = *evaluation;
  evaluations.count = rounds / evaluate_every;
  if (evaluations.count > 0) merge(spending, evaluations);
  return spending;
}

PrivacySetup make_privacy(const DataSetup& setup, const Model& model) {
  const Privacy& chosen = setup.configuration.privacy;
  PrivacySetup privacy;
  if (const auto* settings = example_level(chosen)) add_example_level(privacy, setup, model, *settings);
  if (const auto* settings = client_level(chosen)) add_client_level(privacy, setup, model, *settings);
  return privacy;
}

bool rounds_decide_noise(const Configuration& configuration, const PrivacySetup& privacy) {
  const auto* settings = example_level(configuration.privacy);
  const bool scheduled = settings != nullptr && (settings->clip_schedule != ClipSchedule::constant ||
                                                 settings->noise_schedule != NoiseSchedule::constant);
  const bool example = privacy.example && settings->target_epochs == 0 && (privacy.example->calibrated || scheduled);
  return example || (privacy.client && privacy.client->calibrated);
}

}  // namespace fedstride

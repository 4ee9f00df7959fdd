#include "sim/prepare/privacy_setup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/noise/client_release.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "dp/noise/pca.hpp"
#include "server/cohorts.hpp"
#include "sim/settings/neighbours.hpp"

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
  return {.sampling = sampling_of(settings.sampling),
          .neighbours = example_neighbours(configuration),
          .steps = configuration.local_steps,
          .batch = configuration.batch,
          .sampling_rate = settings.sampling_rate,
          .noise = {.clip = settings.clip,
                    .noise_multiplier = settings.noise_multiplier,
                    .clip_schedule = settings.clip_schedule,
                    .noise_schedule = settings.noise_schedule,
                    .gamma = settings.noise_decay,
                    .momentum = settings.noise_momentum},
          .target_epochs = fixed_target ? settings.target_epochs : static_cast<int>(all),
          .clip_rule = bound_of_lots(configuration.privacy)};
}

// A client's spending in `epochs` epochs, including `beside`, its releases other than gradients.
Spending planned(const PrivatePlan& plan, int epochs, const Spending& beside) {
  Spending spending = plan.spending(0, plan.releases_before(epochs), epochs);
  merge(spending, beside);
  return spending;
}

// Throws Error (usage) if noise with this multiplier cannot be drawn, before a round needs it.
void check_multiplier(double noise_multiplier) {
  if (noise_multiplier > 0) noise_grid(1, noise_multiplier, 1);
}

// Sets the releases that a level accounts for in addition to sums.
void add_beside(const DataSetup& setup, LevelSetup& level, const Spending& components) {
  const Configuration& configuration = setup.configuration;
  check_multiplier(configuration.normalize_noise);
  check_multiplier(configuration.evaluate_noise);
  level.once = components;
  if (setup.data.normalizes_privately) merge(level.once, noisy_mean_release(configuration.normalize_noise, level.neighbours));
  if (configuration.evaluate != EvaluateRule::privately) return;
  level.evaluation = noisy_mean_release(configuration.evaluate_noise, level.neighbours);
  level.evaluate_every = static_cast<std::uint32_t>(configuration.evaluate_every);
}

// Each client's numbers of rows and units. If the units are users, the rows must be in this process, or a roster has counted them.
std::vector<LotSizes> lot_sizes(const DataSetup& setup, const PrivateRules& rules) {
  std::vector<LotSizes> sizes;
  const Dataset& data = setup.data.train;
  for (std::size_t client = 0; client < setup.clients.size(); ++client) {
    const std::size_t count = setup.clients.row_counts[client];
    sizes.push_back({count, count});
    if (rules.unit == LotUnit::examples) continue;
    std::map<std::uint64_t, std::uint64_t> users;  // by their number of rows
    if (!setup.clients.users.empty()) {
      users = setup.clients.users[client];
    } else {
      std::map<std::uint32_t, std::uint64_t> rows_of;
      for (const Row row : setup.clients.rows[client]) ++rows_of[data.user_of_row()[row]];
      for (const auto& [user, rows] : rows_of) ++users[rows];
    }
    sizes.back().units = 0;
    for (const auto& [rows, many] : users)
      sizes.back().units += many * (rules.unit == LotUnit::users ? 1 : std::min<std::uint64_t>(rows, rules.bound));
  }
  return sizes;
}

std::set<LotSizes> kinds_of(const std::vector<LotSizes>& sizes) {
  std::set<LotSizes> kinds(sizes.begin(), sizes.end());
  std::erase_if(kinds, [](const LotSizes& one) { return one.rows == 0; });
  return kinds;
}

// The accountant for lots under these rules. Probes one epoch for every client size, since a lot of the smallest client may have
// all its rows.
Accountant accountant_of_lots(const ExampleSettings& settings, const PrivateRules& rules, const Optimizer& optimizer,
                              const std::set<LotSizes>& sizes, const Spending& beside) {
  Spending any = beside;
  for (const LotSizes& size : sizes) merge(any, planned(PrivatePlan(rules, optimizer, size), 1, {}));
  return accountant_for(settings.accountant, any);
}

// The sampling rate depends on the client's size, so the client that spends most determines the noise for all.
double noise_of_lots(const Accountant& accountant, PrivateRules rules, const Optimizer& optimizer,
                     const std::set<LotSizes>& sizes, const Spending& beside, double epsilon, double delta) {
  double least = 0;
  for (const LotSizes& size : sizes) {
    const auto spending = [&](double noise_multiplier) {
      rules.noise.noise_multiplier = noise_multiplier;
      return planned(PrivatePlan(rules, optimizer, size), rules.target_epochs, beside);
    };
    // Privacy curves of draws and mixtures are slow to compute; most sizes need no more noise than an earlier size.
    const bool is_slow = draw_of(rules.sampling).has_curve() || rules.unit == LotUnit::some_examples;
    if (is_slow && least > 0 && meets(accountant, spending(least), epsilon, delta)) continue;
    least = std::max(least, calibrate(accountant, spending, epsilon, delta));
  }
  return least;
}

// Sets the unit of users' lots: as configured or, if automatic, the unit with less noise on the mean at the same epsilon, which
// depends only on public sizes. Returns a note for the user on an automatic choice.
std::string choose_user_lots(const UserSettings& settings, const DataSetup& setup, PrivateRules& rules) {
  if (setup.data.train.user_of_row().empty() && setup.clients.users.empty())
    throw usage_error(
        "dp is 'user', but the data name no users; name their column or key (--user-column), or use --dp client if each client "
        "is one user");
  rules.bound = static_cast<std::uint64_t>(settings.user_examples);
  rules.unit = settings.user_sampling == UserSampling::examples ? LotUnit::some_examples : LotUnit::users;
  if (settings.user_sampling != UserSampling::automatic) return {};
  const std::string text = "lots of users (user-sampling auto)";
  if (rules.bound == 1) return text + ", who bring the mean of all their examples at the cost of one example each";
  const Optimizer& optimizer = setup.configuration.optimizer;
  double epsilon = settings.noise_multiplier > 0 ? 0 : settings.epsilon;
  const auto deviation_of = [&](LotUnit unit) {  // noise on the mean, in clip bounds; infinite if none suffices
    PrivateRules tried = rules;
    tried.unit = unit;
    const std::vector<LotSizes> sizes = lot_sizes(setup, tried);
    const std::set<LotSizes> kinds = kinds_of(sizes);
    double noise = settings.noise_multiplier;
    if (noise == 0 || unit == LotUnit::some_examples) tried.noise.noise_multiplier = 1;
    const Accountant accountant = accountant_of_lots(settings, tried, optimizer, kinds, {});
    if (noise > 0 && unit == LotUnit::users) {
      for (const LotSizes& size : kinds)
        epsilon = std::max(
            epsilon,
            epsilon_by(accountant, planned(PrivatePlan(tried, optimizer, size), tried.target_epochs, {}), settings.delta).value);
    } else {
      try {
        noise = noise_of_lots(accountant, tried, optimizer, kinds, {}, epsilon, settings.delta);
      } catch (const Error&) {
        return std::numeric_limits<double>::infinity();
      }
    }
    tried.noise.noise_multiplier = noise;
    double expected = 0;
    for (const LotSizes& size : sizes)
      if (size.rows > 0) expected += PrivatePlan(tried, optimizer, size).denominator();
    return noise / expected * static_cast<double>(sizes.size());
  };
  const double users = deviation_of(LotUnit::users);
  const double examples = deviation_of(LotUnit::some_examples);
  if (examples < users) rules.unit = LotUnit::some_examples;
  const std::string at_most = "lots of examples, at most " + std::to_string(rules.bound) + " a user";
  const auto deviation = [](double value) { return "deviation " + number_text(std::round(value * 1e4) / 1e4) + " clip"; };
  return (examples < users ? at_most + " (user-sampling auto)" : text) + ": at the same epsilon the noise on their mean has " +
         deviation(std::min(users, examples)) + ", on that of " + (examples < users ? "lots of users " : at_most + " ") +
         deviation(std::max(users, examples));
}

void add_example_level(PrivacySetup& privacy, const DataSetup& setup, const Model& model, const ExampleSettings& settings) {
  refuse_mixing_layers(model.layers(), model.line());
  const Configuration& configuration = setup.configuration;
  check_multiplier(settings.components_noise);
  if (settings.components > 0)
    privacy.components = {components_release(settings.components_noise, example_neighbours(configuration))};
  PrivateRules rules = private_rules(settings, configuration);
  LevelSetup level{.accountant = {},
                   .delta = settings.delta,
                   .epsilon = settings.epsilon,
                   .neighbours = rules.neighbours,
                   .clip = settings.clip,
                   .bound = rules.clip_rule,
                   .noise_multiplier = settings.noise_multiplier};
  add_beside(setup, level, privacy.components);
  const Spending beside = level.beside(static_cast<std::uint64_t>(configuration.rounds));
  const Optimizer& optimizer = configuration.optimizer;
  if (const UserSettings* users = user_level(configuration.privacy)) privacy.user_lots = choose_user_lots(*users, setup, rules);
  privacy.sizes = lot_sizes(setup, rules);
  const std::set<LotSizes> sizes = kinds_of(privacy.sizes);

  PrivateRules probe = rules;
  if (level.noise_multiplier == 0) probe.noise.noise_multiplier = 1;
  level.accountant = accountant_of_lots(settings, probe, optimizer, sizes, beside);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    // Yu et al., Algorithm 1, line 2: with a target, noise is calibrated for a constant clip; the budget that a falling clip
    // saves pays for steps beyond the target.
    if (settings.target_epochs > 0) probe.noise.clip_schedule = ClipSchedule::constant;
    level.noise_multiplier = noise_of_lots(level.accountant, probe, optimizer, sizes, beside, level.epsilon, level.delta);
  }
  rules.noise.noise_multiplier = level.noise_multiplier;
  check_multiplier(level.noise_multiplier);
  for (const LotSizes& size : sizes) {
    const auto plan = privacy.plans.emplace(size, std::make_shared<const PrivatePlan>(rules, optimizer, size)).first;
    static_cast<void>(plan->second->count_noise());  // throws if the noise on the count is too small
  }
  privacy.example = std::move(level);
}

void add_client_level(PrivacySetup& privacy, const DataSetup& setup, const Model& model, const ClientSettings& settings) {
  const Configuration& configuration = setup.configuration;
  LevelSetup level{.accountant = {},
                   .delta = settings.delta,
                   .epsilon = settings.epsilon,
                   .neighbours = client_neighbours(configuration),
                   .clip = settings.clip,
                   .bound = settings.bound(),
                   .noise_multiplier = settings.noise_multiplier};
  add_beside(setup, level, {});
  const Spending beside = level.beside(static_cast<std::uint64_t>(configuration.rounds));
  const Correlation correlation = plan_correlation(*settings.mechanism(), static_cast<std::uint64_t>(settings.minimum_separation),
                                                   static_cast<std::uint64_t>(configuration.rounds));
  const double rate = configuration.cohort->rate(setup.clients.size());  // within a group, if clients are in groups
  privacy.shares = plan_shares(setup, model);
  const Sampling sampling = rate < 1 ? cohort_sampling(configuration) : Sampling::full;
  Releases release{.sampling = sampling,
                   .neighbours = level.neighbours,
                   .rate = sampling == Sampling::full ? 1 : rate,
                   .noise_multiplier = level.noise_multiplier > 0 ? level.noise_multiplier : 1,
                   .passes = draw_of(sampling).passes(1, 1, rate),
                   .correlation = correlation};
  const auto with_noise = [&](double noise_multiplier) {
    if (privacy.shares) return privacy.shares->release(noise_multiplier, level.neighbours);
    Releases one = release;
    one.noise_multiplier = noise_multiplier;
    return one;
  };
  release = with_noise(release.noise_multiplier);
  Spending any = beside;
  merge(any, release);
  level.accountant = accountant_for(settings.accountant, any);
  if (level.noise_multiplier == 0) {
    level.calibrated = true;
    const auto spending = [&](double noise_multiplier) {
      Spending everything = beside;
      merge(everything, PrivacySetup::in_rounds(with_noise(noise_multiplier), static_cast<std::uint64_t>(configuration.rounds)));
      return everything;
    };
    level.noise_multiplier = calibrate(level.accountant, spending, level.epsilon, level.delta);
  }
  if (!privacy.shares) check_deviation(level.noise_multiplier * level.clip);
  privacy.client_release = with_noise(level.noise_multiplier);
  const std::vector<std::uint64_t> weights = client_weights(setup);
  if (!weights.empty()) privacy.largest_weight = std::max(1.0, static_cast<double>(std::ranges::max(weights)));
  privacy.client = std::move(level);
}

}  // namespace

Releases PrivacySetup::in_rounds(Releases release, std::uint64_t rounds) {
  release = of_rounds(release, rounds);
  if (has_passes(release.sampling)) release.passes = epochs_of(rounds, release.rate);
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
  return example || (privacy.client && (privacy.client->calibrated || privacy.client_release.correlation.on()));
}

}  // namespace fedstride

#include "sim/prepare/noise_shares.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

std::string power_text(double step) { return "2^" + std::to_string(std::ilogb(step)); }

}  // namespace

double SharePlan::deviation(double noise_multiplier) const {
  return noise_multiplier * bound / std::sqrt(static_cast<double>(shares()));
}

secagg::Grid SharePlan::grid_for(double noise_multiplier) const {
  if (!grid.is_exact()) return grid;
  constexpr double kSteps = 4096;
  secagg::Grid made{.range = bound, .step = 0x1p-40, .bits = 32};
  const double share = deviation(noise_multiplier);
  if (share / kSteps > made.step) made.step = std::ldexp(1.0, std::ilogb(share / kSteps));
  while (made.step < bound && bits_of_shares(law, bound, share, made.step, size, clients) > made.bits) made.step *= 2;
  return made;
}

Releases SharePlan::release(double noise_multiplier, Neighbours neighbours) const {
  return {.sampling = Sampling::full,
          .neighbours = neighbours,
          .noise_multiplier = noise_multiplier,
          .law = law,
          .shares = {grid_for(noise_multiplier).step / bound, std::bit_ceil(size), shares()}};
}

NoiseShare SharePlan::share(double noise_multiplier) const {
  const secagg::Grid used = grid_for(noise_multiplier);
  const double share = deviation(noise_multiplier);
  const double steps = share / used.step, least = law_of(law).least_steps(), most = law_of(law).most_steps();
  const std::string noise = "noise-law is '" + std::string(choice_name(law)) + "' and a client's noise has a deviation of " +
                            number_text(share) + ", which is " + number_text(steps) + " steps of secure-grid; it ";
  if (used.range < bound)
    throw usage_error("secure-grid has a range of " + number_text(used.range) + "; what clients send has a norm of up to " +
                      number_text(bound) + ", which the range must cover");
  if (const unsigned needed = bits_of_shares(law, bound, share, used.step, size, clients); needed > used.bits)
    throw usage_error("secure-grid has " + std::to_string(used.bits) + " bits; with steps of " + power_text(used.step) + ", " +
                      counted(clients, "client") + " a round, updates of norm " + number_text(bound) +
                      " and noise of deviation " + number_text(share) + " each, the sum needs " + std::to_string(needed) +
                      " bits");
  const auto is_finer = [](ShareLaw other) { return law_of(law_named_by(other)).least_steps() == 0; };
  if (share < least * used.step)
    throw usage_error(noise + "must be at least " + number_text(least) + " steps: a step of 2^" +
                      std::to_string(std::ilogb(share / least)) + " or less, or noise-law " +
                      joined(names_where<ShareLaw>(is_finer)));
  if (steps > most)
    throw usage_error(noise + "must be at most " + number_text(std::floor(most)) + " steps: a step of 2^" +
                      std::to_string(static_cast<int>(std::ceil(std::log2(share / most)))) + " or more");
  return {law, bound, share, used.step, size};
}

SecureRules secure_settings(const Configuration& configuration) {
  return {.masks = configuration.secure_aggregation == SecureAggregation::real,
          .grid = secagg::Grid::read(configuration.secure_grid),
          .dropouts = configuration.secure_dropouts,
          .colluders = configuration.secure_colluders,
          .degree = configuration.secure_degree,
          .leaving = configuration.secure_leaving,
          .draws = RandomSource(configuration.seed),
          .minimum = static_cast<unsigned>(configuration.minimum_survivors)};
}

ReleasedBeside released_beside(const Configuration& configuration) {
  return {.square = configuration.server->measures(), .statistic = configuration.optimizer->pools()};
}

std::optional<SharePlan> plan_shares(const DataSetup& setup, const Model& model) {
  const Configuration& configuration = setup.configuration;
  const ClientSettings* settings = client_level(configuration.privacy);
  if (settings == nullptr || !settings->has_shares()) return std::nullopt;
  const SecureRules rules = secure_settings(configuration);
  const ReleasedBeside beside = released_beside(configuration);
  SharePlan plan{.law = law_named_by(settings->noise_law),
                 .bound = settings->clip * (beside.count() > 0 ? beside.growth() : 1),
                 .size = configuration.objective->update_size(model.size()) + beside.count(),
                 .clients = configuration.cohort->most(setup.clients.size()),
                 .grid = rules.grid};
  plan.survivors = rules.plan(plan.clients).minimum;
  plan.colluders = rules.assumed(plan.clients).colluders;
  return plan;
}

}  // namespace fedstride

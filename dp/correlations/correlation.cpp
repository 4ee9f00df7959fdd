#include "dp/correlations/correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "dp/correlations/correlations.hpp"
#include "dp/correlations/participation.hpp"

namespace fedstride {
namespace {

constexpr std::uint64_t kMaxHorizon = std::uint64_t{1} << 20;

}  // namespace

PartFamily& MechanismPart::family() {
  static PartFamily family = Mechanisms::family(Question::privacy);
  return family;
}

const MechanismPart& mechanism_of(const Correlation& correlation) {
  return static_cast<const MechanismPart&>(*MechanismPart::family().parts()[static_cast<std::size_t>(correlation.mechanism)]);
}

Correlation plan_correlation(const MechanismPart& mechanism, std::uint64_t separation, std::uint64_t horizon) {
  Correlation planned{.separation = separation};
  if (!mechanism.is_independent(separation))
    planned.mechanism = make_choice<NoiseMechanism>(MechanismPart::kKey, mechanism.name());
  if (!planned.on()) return planned;
  planned.horizon = horizon;
  if (!planned.is_independent()) mechanism.plan(planned);
  if (std::string why = objection(planned); !why.empty()) throw usage_error(why);
  return planned;
}

std::string objection(const Correlation& correlation) {
  const std::string name = "noise '" + std::string(choice_name(correlation.mechanism)) + "' ";
  if (!correlation.on()) return {};
  if (correlation.separation == 0) return name + "has separation 0; it must be at least 1";
  if (correlation.horizon == 0 || correlation.horizon > kMaxHorizon)
    return name + "is planned for " + std::to_string(correlation.horizon) + " rounds; valid: 1 to " + std::to_string(kMaxHorizon);
  if (correlation.restart != 0 && !mechanism_of(correlation).restarts()) return name + "does not restart; 'restart' must be 0";
  const std::string why = mechanism_of(correlation).objection(correlation);
  return why.empty() ? why : name + why;
}

std::string refuse_coefficients(const Correlation& correlation) {
  const std::size_t count = correlation.coefficients.size();
  return count == 0 ? "" : "takes no coefficients; " + std::to_string(count) + " are given";
}

std::uint64_t participations(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return most_participations(static_cast<std::size_t>(rounds),
                             {static_cast<std::size_t>(correlation.separation), static_cast<std::size_t>(most)});
}

namespace {

constexpr std::size_t kColumns = 32;  // limit on the draws per round; a tree needs fewer

/// Calls take(t, noise) for t = `from` ... rounds - 1: noise[i] is the coefficient of draw i of round `from` in the noise of round t.
/// (The noise is linear in the draws, so here each draw has its own component of a stretch.)
void for_each_effect(const Correlation& correlation, std::size_t from, std::size_t rounds, auto take) {
  check_stop();
  std::vector<std::vector<double>> kept(kept_vectors(correlation), std::vector<double>(kColumns));
  std::array<double, kColumns> noise, drawn;
  for (std::size_t t = from; t < rounds; ++t) {  // earlier noise is 0
    const auto draw = [&](std::size_t number) {
      if (number >= kColumns) throw failure("a round's noise needs more than 32 draws; at most 32 are supported");
      drawn.fill(0);
      if (t == from) drawn[number] = 1;
      return std::span<const double>(drawn);
    };
    draw(0);
    noise = drawn;
    mechanism_of(correlation).correlate(correlation, {t, 0, noise, kept}, draw);
    take(t, std::span<const double>(noise));
  }
}

}  // namespace

double combined_deviation(const Correlation& correlation, std::span<const double> factors) {
  double square = 0;
  for (std::size_t from = 0; from < factors.size(); ++from) {
    std::array<double, kColumns> sum{};
    for_each_effect(correlation, from, factors.size(), [&](std::size_t t, std::span<const double> noise) {
      for (std::size_t i = 0; i < kColumns; ++i) sum[i] += factors[t] * noise[i];
    });
    for (const double one : sum) square += one * one;
  }
  return std::sqrt(square);
}

std::vector<std::vector<double>> noise_factor(const Correlation& correlation, std::size_t rounds) {
  std::vector<std::vector<double>> factor(rounds), effects(rounds, std::vector<double>(kColumns));
  for (std::size_t t = 0; t < rounds; ++t) factor[t].assign(t + 1, 0);
  for (std::size_t from = 0; from < rounds; ++from) {
    for_each_effect(correlation, from, rounds, [&](std::size_t t, std::span<const double> noise) {
      std::ranges::copy(noise, effects[t].begin());
      for (std::size_t u = from; u <= t; ++u)
        factor[t][u] += std::inner_product(noise.begin(), noise.end(), effects[u].begin(), 0.0);
    });
  }
  for (std::size_t t = 0; t < rounds; ++t)
    for (std::size_t u = 0; u <= t; ++u) {
      double value = factor[t][u];
      for (std::size_t k = 0; k < u; ++k) value -= factor[t][k] * factor[u][k];
      factor[t][u] = u == t ? std::sqrt(value) : value / factor[u][u];
    }
  return factor;
}

double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return rounds == 0 ? 0 : mechanism_of(correlation).sensitivity(correlation, rounds, most);
}

}  // namespace fedstride

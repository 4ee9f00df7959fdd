#include "dp/correlations/correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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

// The noise is linear in the draws, so here each draw of a round has its own component of a stretch.
double combined_deviation(const Correlation& correlation, std::span<const double> factors) {
  constexpr std::size_t kColumns = 32;  // limit on the draws per round; a tree needs fewer
  double square = 0;
  for (std::size_t from = 0; from < factors.size(); ++from) {
    check_stop();
    std::vector<std::vector<double>> kept(kept_vectors(correlation), std::vector<double>(kColumns));
    std::array<double, kColumns> noise, drawn, sum{};
    std::size_t used = 1;                                  // draws of round `from`
    for (std::size_t t = from; t < factors.size(); ++t) {  // earlier noise is 0
      const auto draw = [&](std::size_t number) {
        if (number >= kColumns) throw failure("a round's noise needs more than 32 draws; at most 32 are supported");
        drawn.fill(0);
        if (t == from) drawn[number] = 1, used = std::max(used, number + 1);
        return std::span<const double>(drawn);
      };
      draw(0);
      noise = drawn;
      mechanism_of(correlation).correlate(correlation, {t, 0, noise, kept}, draw);
      for (std::size_t i = 0; i < used; ++i) sum[i] += factors[t] * noise[i];
    }
    for (const double one : sum) square += one * one;
  }
  return std::sqrt(square);
}

double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return rounds == 0 ? 0 : mechanism_of(correlation).sensitivity(correlation, rounds, most);
}

}  // namespace fedstride

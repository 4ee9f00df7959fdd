#include "dp/correlations/correlation.hpp"

#include <string>

#include "core/error.hpp"
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
  if (correlation.restart != 0 && !mechanism_of(correlation).restarts()) return name + "does not begin anew";
  const std::string why = mechanism_of(correlation).objection(correlation);
  return why.empty() ? why : name + why;
}

std::string refuse_coefficients(const Correlation& correlation) {
  const std::size_t count = correlation.coefficients.size();
  return count == 0 ? "" : "has no coefficients; " + std::to_string(count) + " are given";
}

std::uint64_t participations(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return most_participations(static_cast<std::size_t>(rounds),
                             {static_cast<std::size_t>(correlation.separation), static_cast<std::size_t>(most)});
}

double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return rounds == 0 ? 0 : mechanism_of(correlation).sensitivity(correlation, rounds, most);
}

}  // namespace fedstride

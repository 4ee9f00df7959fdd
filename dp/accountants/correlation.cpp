#include "dp/accountants/correlation.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/participation.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/accountants/toeplitz.hpp"
#include "dp/accountants/tree.hpp"

namespace fedstride {
namespace {

constexpr double kRoundedUp = 1 + 1e-12;
constexpr std::uint64_t kMaxHorizon = std::uint64_t{1} << 20;
constexpr std::size_t kMaxBands = 4096;

Participation participation_of(const Correlation& correlation, std::uint64_t most) {
  return {static_cast<std::size_t>(correlation.separation), static_cast<std::size_t>(most)};
}

std::uint64_t turns(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  return most_participations(static_cast<std::size_t>(rounds), participation_of(correlation, most));
}

// Coefficients never rise, so the worst pattern is the first rounds exactly the separation apart: a stream of ones at these.
double buffered_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  const std::uint64_t after = turns(correlation, rounds, most) * correlation.separation;
  BufferedStream pattern(buffered_of(correlation));
  double square = 0;
  for (std::uint64_t t = 0; t < rounds; ++t) {
    const double value = pattern.multiply(t < after && t % correlation.separation == 0 ? 1 : 0);
    square += value * value;
  }
  return std::sqrt(square) * kRoundedUp;
}

double column_norm(const Correlation& correlation) {
  double square = 0;
  for (const double c : correlation.coefficients) square += c * c;
  return correlation.coefficients.empty() ? 1 : std::sqrt(square) * kRoundedUp;
}

}  // namespace

Correlation plan_correlation(NoiseMechanism mechanism, std::uint64_t separation, std::uint64_t horizon, std::size_t buffers,
                             std::uint64_t restart) {
  if (mechanism == NoiseMechanism::banded && separation == 1) mechanism = NoiseMechanism::independent;
  Correlation planned{.mechanism = mechanism, .separation = separation};
  if (!planned.on()) return planned;
  planned.horizon = horizon;
  if (mechanism == NoiseMechanism::tree) planned.restart = restart;
  const auto steps = static_cast<std::size_t>(horizon);
  if (mechanism == NoiseMechanism::banded)
    planned.coefficients = optimal_banded_toeplitz(static_cast<std::size_t>(std::min(separation, horizon)), steps);
  if (mechanism == NoiseMechanism::blt) {
    const BufferedToeplitz best = optimal_buffered_toeplitz(buffers, steps, {.separation = static_cast<std::size_t>(separation)});
    planned.coefficients = best.scale;
    planned.coefficients.insert(planned.coefficients.end(), best.decay.begin(), best.decay.end());
  }
  if (std::string why = objection(planned); !why.empty()) throw usage_error(why);
  return planned;
}

std::string objection(const Correlation& correlation) {
  const auto name = [&] { return "noise '" + std::string(choice_name(correlation.mechanism)) + "' "; };
  const auto& c = correlation.coefficients;
  if (!correlation.on()) return {};
  if (correlation.separation == 0) return name() + "has separation 0; it must be at least 1";
  if (correlation.horizon == 0 || correlation.horizon > kMaxHorizon)
    return name() + "is planned for " + std::to_string(correlation.horizon) + " rounds; valid: 1 to " +
           std::to_string(kMaxHorizon);
  if (correlation.restart != 0 && correlation.mechanism != NoiseMechanism::tree) return name() + "has no tree to restart";
  switch (correlation.mechanism) {
    case NoiseMechanism::independent:
    case NoiseMechanism::tree:
      return c.empty() ? "" : name() + "has no coefficients; " + std::to_string(c.size()) + " are given";
    case NoiseMechanism::banded:
      if (c.empty() || c.size() > correlation.separation || c.size() > kMaxBands || c[0] != 1 ||
          !std::ranges::all_of(c, [](double value) { return std::isfinite(value); }))
        return name() + "has " + std::to_string(c.size()) + " coefficients; it must have 1 to " +
               std::to_string(std::min<std::uint64_t>(correlation.separation, kMaxBands)) + ", all finite, the first 1";
      return {};
    case NoiseMechanism::blt:
      break;
  }
  try {
    if (c.size() % 2 != 0) return name() + "has not as many scales as decays";
    check_buffered(buffered_of(correlation));
  } catch (const Error& error) {
    return name() + "is invalid: " + error.what();
  }
  return {};
}

BufferedToeplitz buffered_of(const Correlation& correlation) {
  const auto middle = correlation.coefficients.begin() + static_cast<std::ptrdiff_t>(correlation.coefficients.size() / 2);
  return {.scale = {correlation.coefficients.begin(), middle}, .decay = {middle, correlation.coefficients.end()}};
}

std::size_t kept_vectors(const Correlation& correlation) {
  switch (correlation.mechanism) {
    case NoiseMechanism::independent:
      return 0;
    case NoiseMechanism::tree:
      return tree_depth(correlation.restart > 0 ? std::min(correlation.restart, correlation.horizon) : correlation.horizon);
    case NoiseMechanism::banded:
      return correlation.coefficients.size() - 1;
    case NoiseMechanism::blt:
      break;
  }
  return correlation.coefficients.size() / 2;
}

double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) {
  if (rounds == 0) return 0;
  switch (correlation.mechanism) {
    case NoiseMechanism::independent:
      return std::sqrt(static_cast<double>(turns(correlation, rounds, most))) * kRoundedUp;
    case NoiseMechanism::tree:
      return tree_sensitivity(rounds, correlation.separation, most, correlation.restart) * kRoundedUp;
    case NoiseMechanism::banded:
      return toeplitz_sensitivity(correlation.coefficients, static_cast<std::size_t>(rounds), participation_of(correlation, most))
          .value;
    case NoiseMechanism::blt:
      break;
  }
  return buffered_sensitivity(correlation, rounds, most);
}

bool is_correlated(std::span<const Releases> spending) {
  return std::ranges::any_of(spending, [](const Releases& some) { return some.correlation.on(); });
}

Spending without_correlation(std::span<const Releases> spending) {
  Spending all;
  for (const Releases& some : spending) {
    Releases one = some;
    if (some.correlation.on()) {
      one.correlation = {};
      one.rounds = one.most = 0;
      one.count = 0;
      if (some.rounds == 0) continue;
      const bool amplified = some.rate < 1;  // the plan has a rate only for noise that is amplified
      one.count = amplified ? turns(some.correlation, some.rounds, some.most) : 1;
      one.noise_multiplier /=
          amplified ? column_norm(some.correlation) : correlated_sensitivity(some.correlation, some.rounds, some.most);
    }
    merge(all, one);
  }
  return all;
}

Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most) {
  (release.correlation.on() ? release.rounds : release.count) = rounds;
  if (release.correlation.on()) release.most = most;
  return release;
}

}  // namespace fedstride

// All rules at once: what attackers can move, and whose weights count.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/random.hpp"
#include "server/aggregation/bulyan.hpp"
#include "server/aggregation/geometric_median.hpp"
#include "server/aggregation/krum.hpp"
#include "server/aggregation/median.hpp"
#include "server/aggregation/norm_bounded.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/aggregation/weighted_mean.hpp"
#include "tests/kits/conformance.hpp"

namespace fedstride::test::attack_test {
namespace {

constexpr std::size_t kClients = 11;
constexpr std::size_t kSize = 40;

Vector honest_change(std::uint32_t client) {
  RandomStream random(6, {.purpose = Purpose::test, .row = client});
  Vector change(kSize);
  for (float& value : change) value = static_cast<float>(random.normal());
  return change;
}

enum class Attack { together, apart, turned };
constexpr Attack kAttacks[] = {Attack::together, Attack::apart, Attack::turned};

/// The first clients attack.
TriedRound attacked_round(std::size_t attackers, Attack attack) {
  TriedRound round;
  for (std::uint32_t k = 0; k < kClients; ++k) {
    round.changes.push_back(honest_change(k));
    if (k >= attackers) continue;
    for (float& value : round.changes.back()) {
      if (attack == Attack::together)
        value = 1e6F;
      else
        value *= attack == Attack::apart ? 1e6F : -20.0F;
    }
  }
  return round;
}

/// The largest distance of a coordinate from the range of the honest clients' values.
double outside(const Aggregation& rule, std::size_t attackers, Attack attack) {
  const TriedRound round = attacked_round(attackers, attack);
  const Vector change = aggregated(rule, round).value();
  double largest = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    float low = INFINITY, high = -INFINITY;
    for (std::size_t k = attackers; k < kClients; ++k) {
      low = std::min(low, round.changes[k][i]);
      high = std::max(high, round.changes[k][i]);
    }
    largest = std::max({largest, double{low} - double{change[i]}, double{change[i]} - double{high}});
  }
  return largest;
}

double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(sum);
}

/// True if unequal weights change no bit.
bool ignores_weights(const Aggregation& rule) {
  TriedRound round = attacked_round(0, Attack::together);
  const Vector one = aggregated(rule, round).value();
  for (std::uint64_t k = 0; k < kClients; ++k) round.weights.push_back(1 + k * k);
  const Vector other = aggregated(rule, round).value();
  return std::memcmp(one.data(), other.data(), kSize * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("as many attackers as a rule tolerates leave the change within the honest clients' values") {
  for (const Attack attack : kAttacks) {
    CAPTURE(static_cast<int>(attack));
    for (std::size_t attackers = 0; attackers <= 5; ++attackers) CHECK(outside(Median{}, attackers, attack) <= 0);
    for (std::size_t attackers = 0; attackers <= 3; ++attackers)
      CHECK(outside(TrimmedMean({.trim = 0.3}), attackers, attack) <= 0);
    for (std::size_t attackers = 0; attackers <= 4; ++attackers) CHECK(outside(Krum({.byzantine = 4}), attackers, attack) <= 0);
    for (std::size_t attackers = 0; attackers <= 4; ++attackers)
      CHECK(outside(MultiKrum({.byzantine = 4}), attackers, attack) <= 0);
    for (std::size_t attackers = 0; attackers <= 2; ++attackers) CHECK(outside(Bulyan({.byzantine = 2}), attackers, attack) <= 0);
  }
}

TEST_CASE("more attackers move it anywhere; one attacker moves the mean") {
  CHECK(outside(WeightedMean{}, 1, Attack::together) > 1e4);
  CHECK(outside(Median{}, 6, Attack::together) > 1e5);
  CHECK(outside(TrimmedMean({.trim = 0.3}), 4, Attack::together) > 1e4);
  CHECK(outside(Krum({.byzantine = 4}), 6, Attack::together) > 1e5);
  CHECK(outside(MultiKrum({.byzantine = 4}), 6, Attack::together) > 1e5);
  CHECK(outside(Bulyan({.byzantine = 2}), 6, Attack::together) > 1e5);
  CHECK(outside(GeometricMedian({.iterations = 50}), 6, Attack::together) > 1e5);
}

TEST_CASE("the geometric median stays near the honest clients") {
  for (const Attack attack : kAttacks) {
    constexpr std::size_t kAttackers = 3;
    const TriedRound round = attacked_round(kAttackers, attack);
    const Vector change = aggregated(GeometricMedian({.iterations = 50}), round).value();
    // For a share a of attackers the distance of the geometric median from any point z is at most 2 (1 - a) / (1 - 2 a) times the
    // largest distance of an honest update from z (similar to Pillutla et al. 2022); here z = 0.
    double largest = 0;
    for (std::size_t k = kAttackers; k < kClients; ++k) largest = std::max(largest, distance(round.changes[k], Vector(kSize)));
    constexpr double kShare = static_cast<double>(kAttackers) / kClients;
    CHECK(distance(change, Vector(kSize)) < 2 * (1 - kShare) / (1 - 2 * kShare) * largest);
  }
}

TEST_CASE("with a bound on norms an attacker moves the mean by no more than an honest client could") {
  const TriedRound round = attacked_round(2, Attack::together);
  TriedRound silent = round;
  for (std::size_t k = 0; k < 2; ++k) silent.changes[k] = Vector(kSize);
  const double moved =
      distance(*aggregated(NormBounded({.norm_bound = 3}), round), *aggregated(NormBounded({.norm_bound = 3}), silent));
  CHECK(moved == doctest::Approx(2 * 3.0 / kClients));
}

TEST_CASE("only some rules use weights") {
  for (const Aggregation& rule : std::initializer_list<Aggregation>{Median{}, TrimmedMean{}, Krum{}, MultiKrum{}, Bulyan{}})
    CHECK_MESSAGE(ignores_weights(rule), rule.name());
  for (const Aggregation& rule : std::initializer_list<Aggregation>{WeightedMean{}, GeometricMedian{}, NormBounded{}})
    CHECK_MESSAGE(!ignores_weights(rule), rule.name());
}

}  // namespace fedstride::test::attack_test

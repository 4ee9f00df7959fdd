// A minimum separation of a client's rounds: kept over fifty rounds in which clients fail, counted from when they were asked.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/error.hpp"
#include "dp/correlations/correlation.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::separation_test {
namespace {

constexpr std::size_t kSize = 3;
constexpr std::size_t kClients = 200;

/// Every third client that is asked fails.
struct FailingFleet : Fleet {
  std::map<ClientId, std::vector<std::uint32_t>> asked = {};
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort) {
      asked[client].push_back(task.round);
      ClientReport report{.client = client};
      if ((client + task.round) % 3 == 0) report.failure = "its disk is full";
      updates.add({report, view(vector_of({1, 0, 0}))});
    }
  }
};

RoundRules separated_rules(const Cohort& cohort, const Correlation& correlation, double deviation) {
  RoundRules rules{
      .cohort = cohort,
      .cohort_source = RandomSource(std::uint64_t{3}),
      .sum = {.weights = std::vector<std::uint64_t>(kClients, 1),
              .denominator = kClients,
              .release = CentralRelease{UpdateClip(1.0), {.grid = {deviation}}, {{0, kSize}}, RandomSource(std::uint64_t{4})}}};
  rules.separation = correlation.separation;
  rules.sum.release->correlation = correlation;
  return rules;
}

}  // namespace

TEST_CASE("any two rounds of a client are at least the separation apart, over fifty rounds with failures") {
  constexpr std::uint64_t kSeparation = 7;
  for (const bool sampled : {false, true}) {
    const Cohort cohort = sampled ? Cohort(PoissonCohort({.cohort_rate = 0.5})) : Cohort(AllClients{});
    const RoundRules rules = separated_rules(cohort, plan_correlation(BufferedNoise(), kSeparation, 50), 0.1);
    FailingFleet fleet;
    Server server(FederatedAveraging{}, kSize);
    server.correlate_noise(rules.sum.release->correlation, kSize);
    Vector model(kSize);
    std::size_t failures = 0;
    for (std::uint32_t round = 1; round <= 50; ++round)
      for (const ClientReport& report : run_round(round, rules, fleet, server, model))
        failures += report.failure.empty() ? 0U : 1U;
    CHECK(failures > 100);
    std::size_t all = 0;
    std::set<std::uint64_t> groups;
    for (const auto& [client, rounds] : fleet.asked) {
      all += rounds.size();
      groups.insert(rounds.front() % kSeparation);
      for (std::size_t i = 1; i < rounds.size(); ++i) CHECK(rounds[i] - rounds[i - 1] >= kSeparation);
      CHECK(rounds.size() <= (50 - 1) / kSeparation + 1);
    }
    CHECK(groups.size() == kSeparation);
    const double expected = kClients * 50.0 / kSeparation * (sampled ? 0.5 : 1);
    CHECK(std::abs(static_cast<double>(all) - expected) < 0.12 * expected);
    // Within its group a client is drawn as without groups: its own draws do not depend on other clients.
    if (sampled)
      for (const auto& [client, rounds] : fleet.asked)
        for (const std::uint32_t round : rounds) {
          const auto without = rules.cohort->sample(rules.question(round, {}));
          CHECK(std::ranges::binary_search(without, client));
        }
  }
}

TEST_CASE("rounds release the sum and the noise of their place: noise cancels in the sum of rounds") {
  const Correlation correlation = plan_correlation(BandedNoise(), 4, 40);
  const RoundRules rules = separated_rules(AllClients{}, correlation, kClients);  // a deviation of 1 in the mean
  FailingFleet fleet;
  Server server(FederatedAveraging{}, kSize), plain(FederatedAveraging{}, kSize);
  CHECK_THROWS_AS(run_round(1, rules, fleet, plain, *std::make_unique<Vector>(kSize)),
                  Error);  // without the noise of earlier rounds
  server.correlate_noise(correlation, kSize);
  Vector model(kSize);
  CorrelatedNoise alone(correlation, kSize);
  double noise = 0;
  for (std::uint32_t round = 1; round <= 40; ++round) {
    run_round(round, rules, fleet, server, model);
    ExactSum sum(kSize);
    alone.add(sum, rules.sum.release->noise.grid, rules.sum.release->source, round);
    noise += static_cast<double>(sum.integers()[1]) / ExactSum::kScale / kClients;
    CHECK(model[1] == doctest::Approx(noise).epsilon(1e-4));
  }
  // The server's state has it: another server goes on from there.
  Server other(FederatedAveraging{}, kSize);
  CHECK_THROWS_AS(other.load(server.save()), Error);
  other.correlate_noise(correlation, kSize);
  other.load(server.save());
  CHECK(other.noise()->rounds() == 40);
  CHECK(other.save() == server.save());
}

}  // namespace fedstride::test::separation_test

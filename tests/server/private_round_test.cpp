#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/eigen.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::private_round_test {
namespace {

constexpr std::size_t kSize = 64;

/// Client k of the cohort sends `length[k]` times the k-th unit vector.
struct UnitFleet : Fleet {
  explicit UnitFleet(std::vector<float> lengths) : length(std::move(lengths)) {}
  std::vector<float> length;
  void collect(const Task&, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort) {
      Vector change(kSize);
      change[client] = length[client];
      updates.add({ClientReport{.client = client}, view(std::as_const(change))});
    }
  }
};

RoundRules private_rules(Cohort cohort, std::vector<std::uint64_t> weights, double clip, double deviation, double denominator) {
  return {.cohort = cohort,
          .cohort_source = RandomSource(std::uint64_t{3}),
          .sum = {.weights = std::move(weights),
                  .denominator = denominator,
                  .release = CentralRelease{UpdateClip(clip),
                                            {.grid = {deviation}},
                                            {{0, 32}},  // the second half is frozen
                                            RandomSource(std::uint64_t{4})}}};
}

std::vector<ClientReport> averaged(std::uint32_t round, const RoundRules& rules, UnitFleet& fleet, Vector& model,
                                   std::span<const std::uint64_t> releases = {}) {
  Server server(FederatedAveraging{}, kSize);
  return run_round(round, rules, fleet, server, model, releases);
}

constexpr double kTiny = 1e-6;

}  // namespace

TEST_CASE("updates are clipped, weighted and divided by the constant, even if clients drop out") {
  UnitFleet fleet{{10, 0.25F, -3}};
  const RoundRules rules = private_rules(AllClients{}, {1, 2, 1}, 1, kTiny, 8);
  Vector model(kSize);
  averaged(1, rules, fleet, model);
  CHECK(model[0] == doctest::Approx(1.0 / 8));
  CHECK(model[1] == doctest::Approx(0.5 / 8));
  CHECK(model[2] == doctest::Approx(-1.0 / 8));
  fleet.length[0] = std::numeric_limits<float>::quiet_NaN();
  model.fill(0);
  const auto reports = averaged(1, rules, fleet, model);
  CHECK_FALSE(reports[0].failure.empty());
  CHECK(model[1] == doctest::Approx(0.5 / 8));
}

TEST_CASE("one client more or less moves the noisy sum by at most its weight times the clip bound") {
  UnitFleet with{{1e6F, 5}}, without{{0, 5}};
  const RoundRules rules = private_rules(AllClients{}, {3, 1}, 2, 1, 1);
  Vector a(kSize), b = Vector(kSize);
  averaged(1, rules, with, a);
  averaged(1, rules, without, b);
  CHECK((eigen(a) - eigen(b)).norm() <= 6 * (1 + 1e-6));
  CHECK((eigen(a) - eigen(b)).norm() > 5.99);
}

TEST_CASE("an empty cohort still gets noise, frozen parameters do not") {
  UnitFleet fleet{{1, 1}};
  const RoundRules rules = private_rules(PoissonCohort({1e-9}), {1, 1}, 1, 2, 1);
  double squares = 0;
  for (std::uint32_t round = 1; round <= 200; ++round) {
    Vector model(kSize);
    CHECK(averaged(round, rules, fleet, model).empty());
    squares += eigen(model).head(32).squaredNorm();
    CHECK(is_zero(view(model).last(32)));
  }
  CHECK(std::sqrt(squares / (200 * 32)) == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("clients with no releases left do not take part") {
  UnitFleet fleet{{1, 1, 1}};
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1}}};
  Vector model(kSize);
  const std::vector<std::uint64_t> releases{4, 0, 4};
  const auto reports = averaged(1, rules, fleet, model, releases);
  REQUIRE(reports.size() == 2);
  CHECK(reports[1].client == 2);
  CHECK(model[0] == doctest::Approx(0.5));
}

}  // namespace fedstride::test::private_round_test

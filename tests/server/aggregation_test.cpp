#include "server/aggregation.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "server/aggregation/krum.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/aggregation/weighted_mean.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "server/server_optimizer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::aggregation_test {
namespace {

// Only an accumulator can make the two views.
static_assert(!std::is_constructible_v<OpenUpdates, std::vector<OpenUpdates::Update>, std::shared_ptr<UpdateStore>>);
static_assert(!std::is_constructible_v<ReleasedSum, ExactSum, const SumRules&>);
static_assert(!std::is_copy_constructible_v<Accumulator> && !std::is_move_constructible_v<Accumulator>);

/// Client k sends k in the first and -k in the second parameter, the last client an outlier; odd clients go to a part.
struct OutlierFleet : Fleet {
  int collected = 0;
  void collect(const Task&, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    ++collected;
    const auto part = updates.fresh_part();
    for (const ClientId client : cohort) {
      const float value = client + 1 == cohort.size() ? 1e6F : static_cast<float>(client);
      const ClientReport report{.client = client};
      const Vector change = vector_of({value, -value});
      (client % 2 == 0 ? updates : *part).add({report, view(change)});
    }
    updates.merge(*part);
  }
};

}  // namespace

TEST_CASE("a trimmed mean reads single updates, and an outlier has no effect") {
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1}}, .aggregation = TrimmedMean({.trim = 0.2})};
  OutlierFleet fleet;
  Server server(FederatedAveraging{}, 2);
  Vector model(2, 10);
  const auto reports = run_round(1, rules, fleet, server, model);
  CHECK(reports.size() == 5);
  CHECK(model == vector_of({12, 8}));          // the mean of 1, 2, 3
  rules.aggregation = Krum({.byzantine = 2});  // needs seven
  const auto none = run_round(2, rules, fleet, server, model);
  CHECK(none.size() == 5);
  CHECK(model == vector_of({12, 8}));
}

TEST_CASE("under client-level privacy it is refused, before any client trains") {
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1}, .denominator = 5}};
  rules.sum.release = CentralRelease{UpdateClip(1), {.grid = {1}}, {{0, 2}}, RandomSource(std::uint64_t{1})};
  CHECK_USAGE_ERROR(check_aggregation(TrimmedMean{}, Attack(), rules.sum), "aggregation", "trimmed-mean", "client-noise", "local",
                    "'mean'");
  CHECK_NOTHROW(check_aggregation(WeightedMean{}, Attack(), rules.sum));
  rules.aggregation = TrimmedMean{};
  OutlierFleet fleet;
  Server server(FederatedAveraging{}, 2);
  Vector model(2);
  CHECK_USAGE_ERROR(run_round(1, rules, fleet, server, model), "aggregation", "trimmed-mean");
  CHECK(fleet.collected == 0);
  CHECK(is_zero(view(model)));
}

}  // namespace fedstride::test::aggregation_test

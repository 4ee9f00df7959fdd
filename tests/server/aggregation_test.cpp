#include "server/aggregation.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "server/aggregation/krum.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/federated_averaging.hpp"
#include "server/round.hpp"
#include "server/server_optimizer_of.hpp"
#include "server/weighted_mean.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::aggregation_test {
namespace {

/// Would go around the release if it could.
struct Prying {
  static constexpr std::string_view kName = "prying", kSummary = "";
  static constexpr auto kFields = std::tuple{};
  std::optional<Vector> mean_change(const Accumulator&) const { return std::nullopt; }
};
/// Does not say what it reads.
struct Undecided {
  static constexpr std::string_view kName = "undecided", kSummary = "";
  static constexpr auto kFields = std::tuple{};
  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const auto&, auto...) const { return std::nullopt; }
};
static_assert(AggregationRule<TrimmedMean> && ReadsUpdates<TrimmedMean> && !ReadsSum<TrimmedMean>);
static_assert(AggregationRule<WeightedMean> && ReadsSum<WeightedMean> && !ReadsUpdates<WeightedMean>);
static_assert(!AggregationRule<Prying> && !AggregationRule<Undecided>);
// The two views can be made by an accumulator alone.
static_assert(!std::is_constructible_v<OpenUpdates, std::vector<OpenUpdates::Update>, std::shared_ptr<UpdateStore>>);
static_assert(!std::is_constructible_v<ReleasedSum, ExactSum, const SumRules&>);
static_assert(!std::is_copy_constructible_v<Accumulator> && !std::is_move_constructible_v<Accumulator>);

/// Client k sends k in the first and -k in the second parameter, the last client an outlier; every other into a part.
struct OutlierFleet {
  int collected = 0;
  void collect(const Task&, const std::vector<ClientId>& cohort, Accumulator& updates) {
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

TEST_CASE("a trimmed mean reads the clients' own updates, and an outlier does not show") {
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1}}, .aggregation = TrimmedMean{.trim = 0.2}};
  OutlierFleet fleet;
  Server server(FederatedAveraging{}, 2);
  Vector model(2, 10);
  const auto reports = run_round(1, rules, fleet, server, model);
  CHECK(reports.size() == 5);
  CHECK(model == vector_of({12, 8}));        // the mean of 1, 2, 3
  rules.aggregation = Krum{.byzantine = 2};  // needs seven
  const auto none = run_round(2, rules, fleet, server, model);
  CHECK(none.size() == 5);
  CHECK(model == vector_of({12, 8}));
}

TEST_CASE("under client-level privacy it is refused, before any client trains") {
  RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1}, .denominator = 5}};
  rules.sum.release = CentralRelease{UpdateClip(1), {.standard_deviation = 1}, {{0, 2}}, RandomSource(std::uint64_t{1})};
  const char* text =
      "aggregation 'trimmed-mean' reads every client's own update, which dp 'client' and 'both' let nobody see: valid with "
      "them is client-noise 'local', or aggregation 'mean' and an attack that sees no others";
  CHECK_THROWS_WITH_AS(check_aggregation(TrimmedMean{}, Attack(), rules.sum), text, Error);
  CHECK_NOTHROW(check_aggregation(WeightedMean{}, Attack(), rules.sum));
  rules.aggregation = TrimmedMean{};
  OutlierFleet fleet;
  Server server(FederatedAveraging{}, 2);
  Vector model(2);
  CHECK_THROWS_WITH_AS(run_round(1, rules, fleet, server, model), text, Error);
  CHECK(fleet.collected == 0);
  CHECK(is_zero(view(model)));
}

}  // namespace fedstride::test::aggregation_test

// Every aggregation of the registry against the definition of its paper.
#include "tests/kits/conformance.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::known_aggregations_test {
namespace {

const std::vector<std::vector<float>> kUpdates = {{1, 2},       {2, 1},       {1.5F, 1.5F}, {0.5F, 2.5F},
                                                  {1.2F, 1.8F}, {2.5F, 0.5F}, {0.8F, 1.1F}, {1.9F, 2.2F},
                                                  {1.4F, 0.9F}, {10, -9},     {1.1F, 1.6F}};
const std::vector<std::uint64_t> kWeights = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2};

// The change made of these updates, with default settings.
const KnownAnswers<std::vector<double>> kKnown = {
    {"mean", {1.947619, 0.8809524}},
    {"median", {1.4, 1.5}},
    {"trimmed-mean", {1.4888889, 1.4}},
    {"krum", {1.1, 1.6}},
    {"multi-krum", {1.3625, 1.5125}},
    {"bulyan", {1.0714286, 1.4142857}},
    {"geometric-median", {1.5514722, 1.2922607}},
    {"norm-bounded", {1.4619808, 1.1665237}},
};

}  // namespace

TEST_CASE("every aggregation makes the change of its paper") {
  for_each_known<Aggregation>(kKnown, [](const Aggregation& aggregation, const std::vector<double>& expected) {
    TriedRound round{.changes = {}, .weights = kWeights};
    for (const auto& update : kUpdates) round.changes.push_back(vector_of(update));
    const auto change = aggregated(aggregation, round);
    REQUIRE(change);
    check_close({change->begin(), change->end()}, expected);
  });
}

}  // namespace fedstride::test::known_aggregations_test

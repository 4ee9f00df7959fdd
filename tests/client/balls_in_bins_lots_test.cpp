// Balls-in-bins lots: whose turn it is, and what moves nobody.
#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>

#include "client/lot_draws.hpp"
#include "client/optim/adadp.hpp"
#include "client/optim/delta_sgd.hpp"
#include "client/optim/sgd.hpp"

namespace fedstride::test::balls_in_bins_lots_test {
namespace {

std::vector<Row> numbered(std::size_t count) {
  std::vector<Row> rows(count);
  std::iota(rows.begin(), rows.end(), Row{0});
  return rows;
}

/// The lots of a round, in turn.
std::vector<std::vector<Row>> lots_of(const PrivatePlan& plan, const std::vector<Row>& rows, std::uint32_t round,
                                      std::uint64_t first, std::uint64_t count, std::uint64_t seed = 5, ClientId client = 3) {
  const RandomSource source(seed);
  LotDraws draws(plan, source, rows, {.round = round, .client = client, .first_release = first, .reserved = count}, {});
  std::vector<std::vector<Row>> lots(count);
  for (auto& lot : lots) draws.draw(lot);
  return lots;
}

}  // namespace

TEST_CASE("an epoch of bins has as many lots as bins; steps of two lots share them out") {
  const PrivatePlan plan({.sampling = kSampling<BallsInBins>, .batch = 8}, Sgd{}, 60);
  CHECK(plan.sampling() == kSampling<BallsInBins>);
  CHECK(lots_an_epoch(plan.rate()) == 8);  // 7.5
  CHECK(plan.rate() == 1.0 / 8);
  CHECK(plan.denominator() == 7.5);
  CHECK(plan.steps(5) == 8);
  CHECK(plan.releases_before(4) == 32);
  CHECK(plan.passes(32, 9) == 4);
  CHECK(plan.passes(33, 9) == 5);
  CHECK(plan.passes(1, 9) == 1);
  const Spending spent = plan.spending(0, 32, 4);
  REQUIRE(spent.size() == 1);
  CHECK(spent[0].sampling == kSampling<BallsInBins>);
  CHECK(spent[0].rate == 0.125);
  CHECK(spent[0].count == 32);
  CHECK(spent[0].passes == 4);
  Adadp adadp;
  adadp.adapt_epochs = 2;
  const PrivatePlan adaptive({.sampling = kSampling<BallsInBins>, .batch = 20}, adadp, 60);
  CHECK(lots_an_epoch(adaptive.rate()) == 4);  // 3, but two lots a step
  CHECK(adaptive.steps(0) == 2);
  CHECK(adaptive.steps(2) == 4);
  CHECK(adaptive.releases_before(3) == 12);
  CHECK(PrivatePlan({.sampling = kSampling<BallsInBins>, .batch = 100}, DeltaSgd{}, 60).rate() == 0.5);
  CHECK(PrivatePlan({.sampling = kSampling<BallsInBins>, .batch = 100}, Sgd{}, 60).sampling() == Sampling::full);
}

TEST_CASE("every record is in exactly one lot of an epoch, the same in every epoch and round") {
  const std::vector<Row> rows = numbered(60);
  const PrivatePlan plan({.sampling = kSampling<BallsInBins>, .batch = 8}, Sgd{}, rows.size());
  const auto lots = lots_of(plan, rows, 1, 0, 16);
  std::map<Row, int> times;
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(lots[i] == lots[i + 8]);
    for (const Row row : lots[i]) ++times[row];
  }
  CHECK(times.size() == 60);
  for (const auto& [row, count] : times) CHECK(count == 1);
  CHECK(lots_of(plan, rows, 7, 48, 8) == std::vector(lots.begin(), lots.begin() + 8));
  // A round that begins in the middle of an epoch goes on with the next bin.
  CHECK(lots_of(plan, rows, 2, 5, 3) == std::vector(lots.begin() + 5, lots.begin() + 8));
  CHECK(lots_of(plan, rows, 1, 0, 8, 6) != std::vector(lots.begin(), lots.begin() + 8));
  CHECK(lots_of(plan, rows, 1, 0, 8, 5, 4) != std::vector(lots.begin(), lots.begin() + 8));
}

TEST_CASE("a record that is gone moves no other, and every bin is as likely") {
  const std::vector<Row> rows = numbered(4000);
  const PrivatePlan plan({.sampling = kSampling<BallsInBins>, .sampling_rate = 0.25}, Sgd{}, rows.size());
  std::vector<Row> fewer = rows;
  fewer.erase(fewer.begin() + 17);
  auto lots = lots_of(plan, rows, 1, 0, 4);
  const auto without = lots_of(plan, fewer, 1, 0, 4);
  for (auto& lot : lots) {
    CHECK(std::abs(static_cast<double>(lot.size()) - 1000) < 5 * std::sqrt(4000 * 0.25 * 0.75));
    std::erase(lot, Row{17});
  }
  CHECK(lots == without);
}

}  // namespace fedstride::test::balls_in_bins_lots_test

// The bound on examples' gradients that follows counts released with the lots: each lot's count, the clients' sum, the bound.
#include "server/lot_clip.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "client/lot_draws.hpp"
#include "client/optim/sgd.hpp"
#include "server/federated_averaging.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride::test::lot_clip_test {
namespace {

// Gradients along the first coordinate, of lengths that depend on the row.
class LotOfLengths {
 public:
  LotOfLengths(const std::vector<Row>& rows, const std::vector<double>& lengths) {
    for (const Row row : rows) norms_.push_back(lengths[row]);
  }
  bool next() { return std::exchange(left_, false); }
  std::span<const double> norms() const { return norms_; }
  void weighted_sum(std::span<const float> factors, GradientSink sink) {
    float sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) sum += factors[i] * static_cast<float>(norms_[i]);
    sink(0, std::span(&sum, 1));
  }

 private:
  std::vector<double> norms_;
  bool left_ = true;
};

// A client's round of four lots.
ClientReport round_of(const PrivatePlan& plan, const std::vector<double>& lengths, ClientId client, std::uint32_t round,
                      double clip) {
  const RandomSource source(std::uint64_t{3});
  std::vector<Row> rows(lengths.size()), drawn;
  std::iota(rows.begin(), rows.end(), Row{0});
  LotDraws draws(plan, source, rows, {.round = round, .client = client, .first_release = 0, .reserved = 4, .clip = clip}, {});
  ClippedSum sum({{0, 1, false}});
  while (draws.has(1)) {
    draws.draw(drawn);
    LotOfLengths lot(drawn, lengths);
    draws.release(
        lot, sum, [](std::size_t, std::span<const float>) { return 0.0; }, serially);
  }
  ClientReport report{.client = client};
  draws.report(report);
  return report;
}

}  // namespace

TEST_CASE("from 0.1 and from 10 the bound goes to the median of the examples' norms, counts pooled over clients and lots") {
  // Andrew et al. 2021, with counts of each lot: three clients, lots of 100 on average at z = 1, norms lognormal(0, 0.5).
  const PrivatePlan plan({.batch = 100, .noise = {.noise_multiplier = 1}, .adapts_clip = true}, Sgd{}, 400);
  CHECK(plan.count_noise() == 5);
  std::vector<std::vector<double>> lengths(3);
  for (ClientId client = 0; client < 3; ++client)
    for (std::uint32_t row = 0; row < 400; ++row)
      lengths[client].push_back(
          std::exp(0.5 * RandomStream(11, {.purpose = Purpose::test, .client = client, .row = row}).normal()));
  std::vector<double> all;
  for (const auto& some : lengths) all.insert(all.end(), some.begin(), some.end());
  std::ranges::nth_element(all, all.begin() + 600);
  const double median = all[600];
  for (const double first : {0.1, 10.0}) {
    CAPTURE(first);
    Server server(FederatedAveraging{}, 1, {}, std::make_unique<LotClip>(AdaptiveClip{}, first));
    const SumRules rules{.weights = {1, 1, 1}};
    double late = 0;
    for (std::uint32_t round = 1; round <= 200; ++round) {
      std::vector<ClientReport> reports;
      for (ClientId client = 0; client < 3; ++client)
        reports.push_back(round_of(plan, lengths[client], client, round, server.tell(round).at(0)));
      server.take(round, reports, rules);
      if (round > 100) late += std::log(server.adapted_clip()) / 100;
    }
    CHECK(std::exp(late) > 0.99 * median);
    CHECK(std::exp(late) < 1.01 * median);
    CHECK(server.adapted_clip() > 0.97 * median);
    CHECK(server.adapted_clip() < 1.03 * median);
  }
}

TEST_CASE("the bound follows the clients' sums by hand; a failed client, and one without lots, are in neither") {
  const auto fresh = [] { return Server(FederatedAveraging{}, 1, {}, std::make_unique<LotClip>(AdaptiveClip{}, 2)); };
  const SumRules rules{.weights = {1, 1, 1, 1}};
  std::vector<ClientReport> reports(4);
  for (ClientId client = 0; client < 4; ++client) reports[client].client = client;
  reports[0].within = 30, reports[0].expected = 100;
  reports[1].within = -45.5, reports[1].expected = 50;
  reports[2].within = 1000, reports[2].expected = 5, reports[2].failure = "late";
  Server server = fresh();
  CHECK(server.tell(1) == std::vector<double>{2});
  CHECK(server.numbers().empty());
  server.take(1, reports, rules);
  CHECK(server.adapted_clip() == 2 * std::exp(-0.2 * ((30 - 45.5) / 150 + 0.5 - 0.5)));
  CHECK(server.clip() == 0);  // of updates
  REQUIRE(server.numbers().size() == 1);
  CHECK(server.numbers()[0].name == "clip");
  CHECK(server.numbers()[0].value == 2);

  Server again = fresh();
  std::ranges::reverse(reports);
  again.take(1, reports, rules);
  CHECK(again.adapted_clip() == server.adapted_clip());
  Server loaded = fresh();
  loaded.load(server.save());
  CHECK(loaded.adapted_clip() == server.adapted_clip());
  CHECK_THROWS_AS(Server(FederatedAveraging{}, 1).load(server.save() + "x"), Error);
  std::ostringstream damaged;
  LotClip(AdaptiveClip{}, std::nan("")).save(damaged);
  std::istringstream bytes(damaged.str());
  CHECK_THROWS_AS(LotClip(AdaptiveClip{}, 1).load(bytes), Error);
  // Nobody came: the bound stays. One client's word moves it only so far.
  const double before = server.adapted_clip();
  server.take(2, {}, rules);
  CHECK(server.adapted_clip() == before);
  ClientReport wild{.within = -1e30, .expected = 1};
  server.take(3, std::span(&wild, 1), rules);
  CHECK(server.adapted_clip() == doctest::Approx(before * std::exp(0.2)).epsilon(1e-12));
}

}  // namespace fedstride::test::lot_clip_test

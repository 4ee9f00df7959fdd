// Bounds that follow counts: the bit of each client in the release of clipped updates and the count of each lot, by hand; the bound that
// follows; its place in a checkpoint.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "client/lot_draws.hpp"
#include "client/optim/sgd.hpp"
#include "core/error.hpp"
#include "server/federated_averaging.hpp"
#include "server/server_optimizer.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::counted_bound_test {
namespace {

constexpr std::size_t kSize = 2;

struct FollowsMedian final : PartBase<BoundPart, FollowsMedian> {
  static constexpr std::string_view kName = "follows-median", kSummary = "of these tests";
  bool counts() const override { return true; }
  double count_noise(double noise_multiplier, double /*expected*/) const override { return 5 * noise_multiplier; }
  double next(double bound, double mean_bit) const override { return bound * std::exp(-0.2 * mean_bit); }
};

SumRules counting_rules(double noise_multiplier, double deviation) {
  SumRules rules{.weights = {1, 1, 1, 1}, .denominator = 4};
  ReleasedBeside beside;
  beside.set_bit(noise_multiplier, deviation);
  rules.release = CentralRelease{
      UpdateClip(2.0), {.grid = {1e-6}}, {{0, kSize}, {kSize, beside.count()}}, RandomSource(std::uint64_t{7}), beside};
  return rules;
}

/// The mean of updates of these lengths, of clients 0, 1, ..., and of the bits beside it, at this bound.
Vector released(const SumRules& rules, const std::vector<float>& lengths, double bound) {
  const std::vector<ClientId> everyone{0, 1, 2, 3};
  Accumulator whole(rules, 1, everyone, kSize, Accumulator::Keeps::sum, 1, bound);
  for (ClientId client = 0; client < lengths.size(); ++client) {
    const auto part = whole.fresh_part();
    part->add({ClientReport{.client = client}, view(vector_of({0, lengths[client]}))});
    whole.merge(*part);
  }
  return std::move(whole).release().mean().value();
}

// Gradients along the first coordinate, of lengths that depend on the row.
class LotOfLengths {
 public:
  LotOfLengths(const std::vector<Row>& rows, const std::vector<double>& lengths) {
    for (const Row row : rows) norms_.push_back(lengths[row]);
  }
  bool next() { return std::exchange(left_, false); }
  std::span<const double> norms() const { return norms_; }
  void weighted_sum(std::span<const float> factors, SumSink sink) {
    double sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) sum += static_cast<double>(factors[i]) * norms_[i];
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

Server bounding_lots(double first) {
  Server server(FederatedAveraging{}, 1);
  server.bound_lots({FollowsMedian{}, first});
  return server;
}

}  // namespace

TEST_CASE("bits are of the norms before clipping, to this round's bound; an absent client's is 0") {
  const SumRules rules = counting_rules(1, 5);
  // At bound 2: within, within, beyond, absent.
  Vector mean = released(rules, {1, 2, 3}, 0);
  REQUIRE(mean.size() == kSize + 1);
  CHECK(rules.release->beside.take_off(mean, 2).bit == doctest::Approx((0.5 + 0.5 - 0.5 + 0) / 4).epsilon(1e-6));
  CHECK(mean[1] == doctest::Approx((1 + 2 + 2) / 4.0).epsilon(1e-5));
  // At bound 8 all are within, and nothing is clipped.
  mean = released(rules, {1, 2, 3, 7}, 8);
  CHECK(rules.release->beside.take_off(mean, 8).bit == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(mean[1] == doctest::Approx(13 / 4.0).epsilon(1e-5));
  // At bound 1/2 none is.
  mean = released(rules, {1, 2, 3, 7}, 0.5);
  CHECK(rules.release->beside.take_off(mean, 0.5).bit == doctest::Approx(-0.5).epsilon(1e-6));
  CHECK(mean[1] == doctest::Approx(0.5).epsilon(1e-5));
}

TEST_CASE("one client moves update and bit together by no more than is noised for; the noise splits as its formula says") {
  for (const auto& [z, deviation] : {std::pair{1.0, 5.0}, {1.0, 1.0}, {3.0, 3.0}}) {
    const SumRules rules = counting_rules(z, deviation);
    const ReleasedBeside& beside = rules.release->beside;
    CHECK(beside.growth() == doctest::Approx(noise_beside_count(z, deviation) / z).epsilon(2e-6));
    CHECK(z * beside.growth() / beside.bit_share == doctest::Approx(deviation).epsilon(2e-6));
    for (const float length : {0.0F, 1.0F, 2.0F, 100.0F}) {
      const Vector all = released(rules, {1, 5, length}, 0), less = released(rules, {1, 5}, 0);
      double moved = 0;
      for (std::size_t i = 0; i < all.size(); ++i) moved += std::pow(4 * (all[i] - less[i]), 2);
      CHECK(std::sqrt(moved) <= 2 * beside.growth() * (1 + 1e-6));
      if (length >= 2) CHECK(std::sqrt(moved) == doctest::Approx(2 * beside.growth()).epsilon(1e-5));
    }
  }
  ReleasedBeside all{.square = true, .statistic = true};
  const double alone = all.growth();
  all.set_bit(2, 4);
  CHECK(all.count() == 3);
  CHECK(2 * all.growth() / all.bit_share == doctest::Approx(4).epsilon(1e-5));
  CHECK(all.growth() == doctest::Approx(alone / std::sqrt(1 - 1.0 / 16)).epsilon(1e-5));
  CHECK_THROWS_AS(all.set_bit(2, 1), Error);
}

TEST_CASE("noise is in proportion to the round's bound") {
  SumRules rules = counting_rules(1, 5);
  rules.release->noise.grid = {0.5};
  const Vector narrow = released(rules, {}, 1), wide = released(rules, {}, 4);
  for (std::size_t i = 0; i < narrow.size(); ++i) CHECK(wide[i] == doctest::Approx(4 * narrow[i]).epsilon(1e-6));
  CHECK(narrow[0] != 0);
}

TEST_CASE("the server's bound follows the bits, is saved, and is refused if it is damaged") {
  const SumRules rules = counting_rules(1, 5);
  const auto fresh = [&] {
    Server server(FederatedAveraging{}, kSize);
    server.bound_updates({FollowsMedian{}, 2});
    return server;
  };
  Server server = fresh();
  Vector model(kSize);
  server.apply(model, released(rules, {1, 1, 1, 1}, server.clip()), 1, rules);
  CHECK(server.clip() == doctest::Approx(2 * std::exp(-0.2 * 0.5)).epsilon(1e-6));
  CHECK(server.numbers().back().name == "clip");
  CHECK(server.numbers().back().value == 2);
  Server again = fresh();
  again.load(server.save());
  CHECK(again.clip() == server.clip());
  const double before = server.clip();
  server.apply(model, released(rules, {9, 9, 9, 9}, server.clip()), 2, rules);
  CHECK(server.clip() == doctest::Approx(before * std::exp(0.2 * 0.5)).epsilon(1e-6));
  // A state without a bound is another run's; a bound cannot leave the range of the noise.
  Server fixed(FederatedAveraging{}, kSize);
  CHECK_THROWS_AS(again.load(fixed.save()), Error);
  CHECK_THROWS_AS(fixed.load(server.save()), Error);
  SumRules wide = rules;
  wide.release->noise.grid = {0x1p21};
  CHECK(wide.release->most_bound() == 4);
  Server limited(FederatedAveraging{}, kSize);
  limited.bound_updates({FollowsMedian{}, 3.99});
  limited.apply(model, vector_of({0, 0, -10}), 1, wide);
  CHECK(limited.clip() == 4);
}

TEST_CASE("from 0.1 and from 10 the bound goes to the median of the examples' norms, counts pooled over clients and lots") {
  // Andrew et al. 2021, with counts of each lot: three clients, lots of 100 on average at z = 1, norms lognormal(0, 0.5).
  const PrivatePlan plan({.batch = 100, .noise = {.noise_multiplier = 1}, .clip_rule = FollowsMedian{}}, Sgd{}, 400);
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
    Server server = bounding_lots(first);
    const SumRules rules{.weights = {1, 1, 1}};
    double late = 0;
    for (std::uint32_t round = 1; round <= 200; ++round) {
      std::vector<ClientReport> reports;
      for (ClientId client = 0; client < 3; ++client)
        reports.push_back(round_of(plan, lengths[client], client, round, server.tell(round).at(0)));
      server.take(round, reports, rules);
      if (round > 100) late += std::log(server.counted_clip()) / 100;
    }
    CHECK(std::exp(late) > 0.99 * median);
    CHECK(std::exp(late) < 1.01 * median);
    CHECK(server.counted_clip() > 0.97 * median);
    CHECK(server.counted_clip() < 1.03 * median);
  }
}

TEST_CASE("the bound follows the clients' sums by hand; a failed client, and one without lots, are in neither") {
  const auto fresh = [] { return bounding_lots(2); };
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
  CHECK(server.counted_clip() == 2 * std::exp(-0.2 * ((30 - 45.5) / 150)));
  CHECK(server.clip() == 0);  // of updates
  REQUIRE(server.numbers().size() == 1);
  CHECK(server.numbers()[0].name == "clip");
  CHECK(server.numbers()[0].value == 2);

  Server again = fresh();
  std::ranges::reverse(reports);
  again.take(1, reports, rules);
  CHECK(again.counted_clip() == server.counted_clip());
  Server loaded = fresh();
  loaded.load(server.save());
  CHECK(loaded.counted_clip() == server.counted_clip());
  CHECK_THROWS_AS(Server(FederatedAveraging{}, 1).load(server.save() + "x"), Error);
  CHECK_THROWS_AS(fresh().load(bounding_lots(std::nan("")).save()), Error);
  // Nobody came: the bound stays. One client's word moves it only so far.
  const double before = server.counted_clip();
  server.take(2, {}, rules);
  CHECK(server.counted_clip() == before);
  ClientReport wild{.within = -1e30, .expected = 1};
  server.take(3, std::span(&wild, 1), rules);
  CHECK(server.counted_clip() == doctest::Approx(before * std::exp(0.2)).epsilon(1e-12));
}

}  // namespace fedstride::test::counted_bound_test

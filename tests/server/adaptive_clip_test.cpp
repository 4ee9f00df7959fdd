// The bit of each client in the release of clipped updates, by hand; the bound that follows; its place in a checkpoint.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "server/federated_averaging.hpp"
#include "server/server_optimizer.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::adaptive_clip_test {
namespace {

constexpr std::size_t kSize = 2;

SumRules adaptive_rules(double noise_multiplier, double deviation) {
  SumRules rules{.weights = {1, 1, 1, 1}, .denominator = 4};
  ReleasedBeside beside;
  beside.set_bit(noise_multiplier, deviation);
  rules.release = CentralRelease{UpdateClip(2.0),
                                 {.standard_deviation = 1e-9},
                                 {{0, kSize}, {kSize, beside.count()}},
                                 RandomSource(std::uint64_t{7}),
                                 beside,
                                 AdaptiveClip{}};
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

}  // namespace

TEST_CASE("bits are of the norms before clipping, to this round's bound; an absent client's is 0") {
  const SumRules rules = adaptive_rules(1, 5);
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
    const SumRules rules = adaptive_rules(z, deviation);
    const ReleasedBeside& beside = rules.release->beside;
    CHECK(beside.growth() == doctest::Approx(adaptive_clip_noise(z, 1, deviation).vector / z).epsilon(2e-6));
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
  SumRules rules = adaptive_rules(1, 5);
  rules.release->noise.standard_deviation = 0.5;
  const Vector narrow = released(rules, {}, 1), wide = released(rules, {}, 4);
  for (std::size_t i = 0; i < narrow.size(); ++i) CHECK(wide[i] == doctest::Approx(4 * narrow[i]).epsilon(1e-6));
  CHECK(narrow[0] != 0);
}

TEST_CASE("the server's bound follows the bits, is saved, and is refused if it is damaged") {
  const SumRules rules = adaptive_rules(1, 5);
  const auto fresh = [&] {
    Server server(FederatedAveraging{}, kSize);
    server.adapt_clip(2);
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
  wide.release->noise.standard_deviation = 0x1p21;
  CHECK(wide.release->next_bound(3.99, -0.5) == 4);
}

}  // namespace fedstride::test::adaptive_clip_test

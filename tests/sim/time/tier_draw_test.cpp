#include "sim/time/modes/tifl.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/refusal.hpp"

namespace fedstride::test::tier_draw_test {
namespace {

const std::vector<std::uint16_t> kTiers{0, 1, 2, 2, 1, 0};  // by client
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Draws for rounds [first, end) with the same losses; how often each of three tiers of two clients came.
std::vector<int> drawn(TierDraw& draw, std::uint32_t first, std::uint32_t end, const std::vector<double>& losses) {
  std::vector<int> times(3);
  for (std::uint32_t round = first; round < end; ++round) {
    RandomStream random(1, {.purpose = Purpose::asynchrony, .round = round});
    ++times[draw.draw(round, losses, random)];
  }
  return times;
}

}  // namespace

TEST_CASE("a tier's loss is the mean of its clients' known losses") {
  const std::vector<std::uint16_t> tier_of{0, 1, 1, 2};
  const std::vector<double> found = tier_losses(3, tier_of, std::vector<double>{1, 2, 4, kUnknown});
  CHECK(found[0] == 1);
  CHECK(found[1] == 3);
  CHECK(std::isnan(found[2]));
}

TEST_CASE("when a tier no longer improves, tiers are drawn by the rank of their losses") {
  TierDraw draw(kTiers, 3000, 0);
  const std::vector<double> losses{1, 3, 2, 2, 3, 1};
  // Uniformly until the second look, at round 6001, which finds the losses of the first.
  for (const int times : drawn(draw, 1, 6001, losses)) CHECK(std::abs(times - 2000) < 4 * 37);
  const std::vector<int> times = drawn(draw, 6001, 9001, losses);
  const int expected[] = {500, 1500, 1000};  // of 3000, by 1/6, 3/6, 2/6
  for (std::size_t tier = 0; tier < 3; ++tier) CHECK(std::abs(times[tier] - expected[tier]) < 4 * 28);
  // A tier of which nothing is known ranks first.
  const std::vector<int> unknown = drawn(draw, 9001, 12001, {1, 3, kUnknown, kUnknown, 3, 1});
  const int then[] = {500, 1000, 1500};
  for (std::size_t tier = 0; tier < 3; ++tier) CHECK(std::abs(unknown[tier] - then[tier]) < 4 * 28);
}

TEST_CASE("while the last tier improves, nothing changes") {
  TierDraw draw(kTiers, 1000, 0);
  for (std::uint32_t look = 0; look < 5; ++look) {
    const double loss = 5.0 - look;
    for (const int times : drawn(draw, 1 + 1000 * look, 1001 + 1000 * look, std::vector<double>(6, loss)))
      CHECK(std::abs(times - 333) < 4 * 15);
  }
}

TEST_CASE("a tier has no more rounds than its credits, until all have used theirs") {
  TierDraw draw(kTiers, 10, 40);
  CHECK(drawn(draw, 1, 121, {9, 1, 1, 1, 1, 9}) == std::vector<int>{40, 40, 40});
  const std::vector<int> after = drawn(draw, 121, 721, {9, 1, 1, 1, 1, 9});
  CHECK(after[0] + after[1] + after[2] == 600);
}

TEST_CASE("a saved state draws on as if nothing had happened") {
  const std::vector<double> losses{1, 3, 2, 2, 3, 1};
  TierDraw draw(kTiers, 5, 20);
  drawn(draw, 1, 24, losses);
  TierDraw other(kTiers, 5, 20);
  other.load(draw.save());
  CHECK_FAILURE(TierDraw({0, 1}, 5, 20).load(draw.save()), "tier draws", "another run");
  CHECK(drawn(draw, 24, 60, losses) == drawn(other, 24, 60, losses));
}

}  // namespace fedstride::test::tier_draw_test

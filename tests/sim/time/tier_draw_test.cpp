#include "sim/time/tier_draw.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/part_state.hpp"
#include "tests/support/vectors.hpp"

#include <cereal/types/vector.hpp>

namespace fedstride::test::tier_draw_test {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Draws for rounds [first, end) with the same losses; how often each of three tiers of two clients came.
std::vector<int> drawn(TierDraw& draw, const Tiered& mode, std::uint32_t first, std::uint32_t end,
                       const std::vector<double>& losses) {
  const std::vector<std::uint16_t> tier_of{0, 1, 2, 2, 1, 0};
  std::vector<int> times(3);
  for (std::uint32_t round = first; round < end; ++round) {
    RandomStream random(1, {.purpose = Purpose::asynchrony, .round = round});
    ++times[draw.draw(mode, round, tier_of, losses, random)];
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
  const Tiered mode({{3}, TierPolicy::losses, 3000, 0});
  TierDraw draw;
  const std::vector<double> losses{1, 3, 2, 2, 3, 1};
  // Uniformly until the second look, at round 6001, which finds the losses of the first.
  for (const int times : drawn(draw, mode, 1, 6001, losses)) CHECK(std::abs(times - 2000) < 4 * 37);
  const std::vector<int> times = drawn(draw, mode, 6001, 9001, losses);
  const int expected[] = {500, 1500, 1000};  // of 3000, by 1/6, 3/6, 2/6
  for (std::size_t tier = 0; tier < 3; ++tier) CHECK(std::abs(times[tier] - expected[tier]) < 4 * 28);
  // A tier of which nothing is known ranks first.
  const std::vector<int> unknown = drawn(draw, mode, 9001, 12001, {1, 3, kUnknown, kUnknown, 3, 1});
  const int then[] = {500, 1000, 1500};
  for (std::size_t tier = 0; tier < 3; ++tier) CHECK(std::abs(unknown[tier] - then[tier]) < 4 * 28);
}

TEST_CASE("while the last tier improves, nothing changes") {
  const Tiered mode({{3}, TierPolicy::losses, 1000, 0});
  TierDraw draw;
  for (std::uint32_t look = 0; look < 5; ++look) {
    const double loss = 5.0 - look;
    for (const int times : drawn(draw, mode, 1 + 1000 * look, 1001 + 1000 * look, std::vector<double>(6, loss)))
      CHECK(std::abs(times - 333) < 4 * 15);
  }
}

TEST_CASE("a tier has no more rounds than its credits, until all have used theirs") {
  const Tiered mode({{3}, TierPolicy::losses, 10, 40});
  TierDraw draw;
  CHECK(drawn(draw, mode, 1, 121, {9, 1, 1, 1, 1, 9}) == std::vector<int>{40, 40, 40});
  const std::vector<int> after = drawn(draw, mode, 121, 721, {9, 1, 1, 1, 1, 9});
  CHECK(after[0] + after[1] + after[2] == 600);
}

TEST_CASE("a saved state draws on as if nothing had happened") {
  const Tiered mode({{3}, TierPolicy::losses, 5, 20});
  const std::vector<double> losses{1, 3, 2, 2, 3, 1};
  TierDraw draw;
  drawn(draw, mode, 1, 24, losses);
  const std::string bytes = state_bytes([&](std::ostream& stream) { write_archive(stream, draw); });
  TierDraw other;
  load_state(bytes, "it", std::nullopt, [&](std::istream& stream) { read_archive(stream, other); });
  CHECK(other.fits(3));
  CHECK_FALSE(other.fits(2));
  CHECK(drawn(draw, mode, 24, 60, losses) == drawn(other, mode, 24, 60, losses));
}

}  // namespace fedstride::test::tier_draw_test

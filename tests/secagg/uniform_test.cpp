// Masked inputs of one client, over many rounds of the same input, cannot be told from uniform bits.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/secagg/federation.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::uniform_test {
namespace {

using namespace secagg;

// So many standard deviations is a chi-squared statistic above its mean.
double excess(double statistic, double freedom) { return (statistic - freedom) / std::sqrt(2 * freedom); }

}  // namespace

TEST_CASE("bits, pairs of bits and pairs of components of a masked input over 1,000 rounds, or 10,000") {
  const int kRounds = every_check() ? 10000 : 1000;
  const Session session = session_of(3, choose_plan({3, 1, 0}), 8, 32);
  std::vector<int> ones(256), pairs(256 * 4), same(28);
  for (int round = 0; round < kRounds; ++round) {
    Attempt attempt(session, "round " + std::to_string(round));
    attempt.share();
    const Masked masked = attempt.clients[1].mask(attempt.coordinator.delivery(1), input_of(session, 1));
    const auto bit = [&](std::size_t i) { return masked.input.bytes()[i % 256 / 8] >> (i % 8) & 1; };
    for (std::size_t i = 0; i < 256; ++i) {
      ones[i] += bit(i);
      ++pairs[4 * i + static_cast<std::size_t>(bit(i) + 2 * bit(i + 37))];
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = i + 1; j < 8; ++j) same[at++] += bit(32 * i + 31) == bit(32 * j + 31) ? 1 : 0;
  }
  double of_bits = 0, of_pairs = 0, of_components = 0;
  for (const int count : ones) of_bits += std::pow(count - kRounds / 2.0, 2) / (kRounds / 4.0);
  for (const int count : pairs) of_pairs += std::pow(count - kRounds / 4.0, 2) / (kRounds / 4.0);
  for (const int count : same) of_components += std::pow(count - kRounds / 2.0, 2) / (kRounds / 4.0);
  CHECK(std::fabs(excess(of_bits, 256)) < 4);
  CHECK(std::fabs(excess(of_pairs, 256 * 3)) < 6);  // each bit is in two pairs, so that it varies more
  CHECK(std::fabs(excess(of_components, 28)) < 4);
}

}  // namespace fedstride::test::uniform_test

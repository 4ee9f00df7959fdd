// A sum of shares: its noise has the exact probabilities, its mean and error are those of noise added once, and its parts keep the norm
// that the account assumes.
#include "client/noise_share.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "dp/noise/client_release.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::noise_share_test {
namespace {

const RandomSource kCommon{std::uint64_t{3}};

RandomSource secret_source() {
  SecretKey key{};
  key[5] = 77;
  return RandomSource(key);
}

Vector some_update(std::size_t size, double norm, std::uint32_t client) {
  RandomStream random(4, {.purpose = Purpose::test, .client = client});
  Vector update(size);
  for (float& value : update) value = static_cast<float>(random.normal());
  const double own = l2_norm(view(std::as_const(update)));
  for (float& value : update) value = static_cast<float>(value * norm / own);
  return update;
}

std::vector<double> sum_of(const NoiseShare& share, const RandomSource& own, std::uint32_t round, std::uint32_t clients,
                           std::span<const Vector> updates) {
  std::vector<double> sum(share.length());
  std::vector<std::int64_t> part(share.length());
  for (std::uint32_t client = 0; client < clients; ++client) {
    share.encode(view(updates[client]), kCommon, own, round, client, part);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part[i]);
  }
  return sum;
}

// P(X = -most), ..., by the recurrence of its law.
std::vector<double> masses_of(NoiseLaw law, double variance, int most) {
  std::vector<double> masses;
  double total = 0;
  if (law == kLaw<DiscreteGaussianLaw>) {
    for (int x = -most; x <= most; ++x) total += masses.emplace_back(std::exp(-x * x / (2 * variance)));
    for (double& mass : masses) mass /= total;
    return masses;
  }
  std::vector<double> poisson{std::exp(-variance / 2)};
  for (int k = 1; k <= 4 * most; ++k) poisson.push_back(poisson.back() * variance / 2 / k);
  for (int x = -most; x <= most; ++x) {
    double sum = 0;
    for (int k = std::max(x, 0); k <= 4 * most && k - x <= 4 * most; ++k)
      sum += poisson[static_cast<std::size_t>(k)] * poisson[static_cast<std::size_t>(k - x)];
    masses.push_back(sum);
  }
  return masses;
}

TEST_CASE("a deviation that is no whole number of steps is rounded up by next to nothing") {
  for (const double deviation : {2.0001, 2.31, 3.999, 1000.7, 70'000.3}) {
    const double variance = NoiseShare(kLaw<DiscreteGaussianLaw>, 1, deviation * 0x1p-20, 0x1p-20, 4).variance();
    CHECK(variance >= deviation * deviation);
    CHECK(variance <= deviation * deviation * (1 + 0x1p-14));
  }
}

TEST_CASE("of updates of zeros the sum of four clients has exact probabilities: Skellam, discrete Gaussian; seeded and secret") {
  constexpr std::size_t kSize = 1 << 14;
  const std::vector<Vector> zeros(4, Vector(kSize));
  for (const RandomSource& own : {RandomSource(std::uint64_t{8}), secret_source()})
    for (const auto& [law, deviation] : {std::pair(kLaw<SkellamLaw>, 1.5),
                                         {kLaw<SkellamLaw>, 0.5},
                                         {kLaw<DiscreteGaussianLaw>, 2.0},
                                         {kLaw<DiscreteGaussianLaw>, 2.3125}}) {
      const NoiseShare share(law, 1, deviation * 0.25, 0.25, kSize);
      CHECK(share.variance() == deviation * deviation);
      const auto sum = sum_of(share, own, 1, 4, zeros);
      std::map<int, double> counts;
      for (const double value : sum) ++counts[static_cast<int>(value)];
      // Sums of Skellam draws are Skellam; of discrete Gaussians, one to within 1e-16.
      const auto masses = masses_of(law, 4 * deviation * deviation, 40);
      double chi_square = 0, freedom = -1;
      for (int x = -40; x <= 40; ++x) {
        const double expected = kSize * masses[static_cast<std::size_t>(x + 40)];
        if (expected < 10) continue;
        chi_square += (counts[x] - expected) * (counts[x] - expected) / expected;
        ++freedom;
      }
      CHECK(chi_square < freedom + 4 * std::sqrt(2 * freedom));
    }
}

TEST_CASE("rounding keeps every part within the norm of the account, and without noise the sum is unbiased") {
  constexpr std::size_t kSize = 1000;
  for (const double step : {0.5, 0.03, 1e-4}) {
    CAPTURE(step);
    // Nearly all draws of so small a variance are 0.
    const NoiseShare share(kLaw<SkellamLaw>, 1, 1e-9, step, kSize);
    CHECK(share.length() == 1024);
    const double most = rounded_norm({.step = step, .clip = 1, .dimension = 1024});
    const Vector update = some_update(kSize, 1, 0);
    Vector mean(kSize);
    constexpr std::uint32_t kRounds = 400;
    std::vector<std::int64_t> part(share.length());
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      share.encode(view(update), kCommon, RandomSource(std::uint64_t{2}), round, 0, part);
      double squares = 0;
      std::vector<double> steps;
      for (const std::int64_t value : part)
        squares += static_cast<double>(value * value), steps.push_back(static_cast<double>(value));
      CHECK(std::sqrt(squares) <= most + 2);  // a rare draw that is not 0
      const Vector decoded = share.decode(steps, kCommon, round);
      for (std::size_t i = 0; i < kSize; ++i) mean[i] += decoded[i] / kRounds;
    }
    double error = 0;
    for (std::size_t i = 0; i < kSize; ++i) error += std::pow(static_cast<double>(mean[i] - update[i]), 2) / kSize;
    // Rounding has a variance of at most step^2 / 4, and 2^-15 more.
    CHECK(std::sqrt(error) < 1.1 * step * std::sqrt((0.25 + 1e-4) / kRounds) + 1e-7);
  }
}

TEST_CASE("mean and error of the sum are those of central noise of the same deviation") {
  constexpr std::size_t kSize = 3000;
  constexpr std::uint32_t kClients = 20;
  std::vector<Vector> updates;
  Vector expected(kSize);
  for (std::uint32_t client = 0; client < kClients; ++client) {
    updates.push_back(some_update(kSize, 0.1 + 0.045 * client, client));
    for (std::size_t i = 0; i < kSize; ++i) expected[i] += updates[client][i];
  }
  constexpr double kDeviation = 0.8;  // of the sum
  for (const NoiseLaw law : {kLaw<SkellamLaw>, kLaw<DiscreteGaussianLaw>}) {
    const NoiseShare share(law, 1, kDeviation / std::sqrt(kClients), 0x1p-12, kSize);
    double mean = 0, square = 0, fourth = 0;
    constexpr std::uint32_t kRounds = 10;
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const Vector sum = share.decode(sum_of(share, secret_source(), round, kClients, updates), kCommon, round);
      for (std::size_t i = 0; i < kSize; ++i) {
        const double error = (sum[i] - expected[i]) / kDeviation;
        mean += error / (kRounds * kSize);
        square += error * error / (kRounds * kSize);
        fourth += std::pow(error, 4) / (kRounds * kSize);
      }
    }
    const double draws = kRounds * kSize;
    CHECK(std::abs(mean) < 4 / std::sqrt(draws));
    CHECK(std::abs(square - 1) < 4 * std::sqrt(2 / draws) + 1e-4);
    CHECK(std::abs(fourth - 3) < 4 * std::sqrt(96 / draws) + 1e-3);
  }
}

TEST_CASE("noise is a function of client and round; the ring's bits suffice for the largest sum and are not many more") {
  const NoiseShare share(kLaw<SkellamLaw>, 1, 0.1, 0x1p-10, 64);
  const std::vector<Vector> zeros(3, Vector(64));
  std::vector<std::vector<std::int64_t>> parts;
  for (const auto& [round, client] : {std::pair(1U, 0U), {1U, 1U}, {2U, 0U}, {1U, 0U}})
    share.encode(view(zeros[0]), kCommon, RandomSource(std::uint64_t{1}), round, client, parts.emplace_back(64));
  CHECK(parts[0] == parts[3]);
  CHECK(parts[0] != parts[1]);
  CHECK(parts[0] != parts[2]);
  // 10 clients of up to 1,024 steps, noise of at most 8 times 324: 12,832, or 14 bits and a sign.
  CHECK(bits_of_shares(kLaw<SkellamLaw>, 1, 0.1, 0x1p-10, 64, 10) == 15);
  CHECK(bits_of_shares(kLaw<SkellamLaw>, 1, 0.1, 0x1p-10, 64, 10000) == 25);
  CHECK_USAGE_ERROR((NoiseShare{kLaw<SkellamLaw>, 1, 1, 1e-6, 8}), "variance", "2147483648");
  CHECK_USAGE_ERROR((NoiseShare{kLaw<DiscreteGaussianLaw>, 1, 1, 1e-12, 8}), "step");
}

}  // namespace
}  // namespace fedstride::test::noise_share_test
